"""A load worker's process as the run sees it: lines of files, carried by somebody else."""

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from runners.load.children import DistantChild
from runners.load.shard_process import ShardConfig
from runners.protocol import distant
from runners.protocol.distant import LineReader
from tests.runners.load.test_merging import report
from tests.runners.load.test_other_clock import a_clock

CONFIG = ShardConfig(
    root="/here", number=1, processes=2, base_url="http://a", addresses=[], asking={"model": "m"}
)


@pytest.fixture
def child(tmp_path: Path) -> DistantChild:
    (tmp_path / distant.FOLDER).mkdir()
    return DistantChild(CONFIG, tmp_path)


def say(tmp_path: Path, **line: Any) -> None:
    distant.write_line(distant.said_file(tmp_path, CONFIG.worker), **line)


def told(tmp_path: Path) -> list[dict[str, Any]]:
    return LineReader(distant.told_file(tmp_path, CONFIG.worker)).new_lines()


def test_it_is_told_what_to_drive_without_a_path_of_this_machine(
    child: DistantChild, tmp_path: Path
) -> None:
    child.say({"go": 7})

    wanted = {name: value for name, value in asdict(CONFIG).items() if name != "root"}
    assert told(tmp_path) == [{"drive": wanted}, {"go": 7}]


def test_its_report_is_taken_once_its_clock_is_known(child: DistantChild, tmp_path: Path) -> None:
    say(tmp_path, clock=a_clock(50, 50))
    say(tmp_path, ready=True)
    say(tmp_path, done=3, total=9)
    say(tmp_path, drain=1)
    say(tmp_path, clock=a_clock(48, 52))
    say(tmp_path, report=asdict(report(origin_ns=150)), streams=[{"stream": "wire"}], cpu={})

    asyncio.run(asyncio.wait_for(child.listen(), 5))

    assert child.told.ready.is_set()
    assert (child.told.done, child.told.total) == (3, 9)
    assert child.told.report is not None
    assert (child.told.report.origin_ns, child.told.report.times_error_ns) == (100, 2)
    assert child.told.drain_ns != 1, "an instant of another clock is none of ours"
    assert child.told.beside == {"cpu": {}, "clock_domain": "d", "host": "h"}


def test_a_load_worker_that_is_gone_says_why_and_ends_the_listening(
    child: DistantChild, tmp_path: Path
) -> None:
    say(tmp_path, gone="gave no sign of life for 4 s")

    asyncio.run(asyncio.wait_for(child.listen(), 5))

    assert child.told.report is None
    assert child.how_it_ended() == ("load worker of client process 2: gave no sign of life for 4 s")


def test_half_a_line_is_left_until_it_is_whole(child: DistantChild, tmp_path: Path) -> None:
    path = distant.said_file(tmp_path, CONFIG.worker)
    reader = LineReader(path)
    path.write_bytes(b'{"ready": true}\n{"do')

    assert reader.new_lines() == [{"ready": True}]
    assert reader.new_lines() == []
    with path.open("ab") as stream:
        stream.write(b'ne": 1}\n')
    assert reader.new_lines() == [{"done": 1}]
