"""The engine's output within its limit: head, tail, exact loss, time anchors, no secrets."""

import json
from pathlib import Path
from typing import Any

import pytest

from runners.evidence import logs
from runners.evidence.logs import BoundedLog, assemble, last_lines
from runners.evidence.secrets import Redactor


def written(tmp_path: Path, *chunks: bytes, limit: int = 10_000, **secrets: str) -> BoundedLog:
    log = BoundedLog(
        tmp_path / "engine.log", tmp_path, limit_bytes=limit, redactor=Redactor(secrets)
    )
    for number, chunk in enumerate(chunks):
        log.write(chunk, 1000 + number)
    return log


def joined(tmp_path: Path) -> tuple[bytes, logs.Assembled, list[dict[str, Any]]]:
    result = assemble(
        tmp_path / "engine.log",
        tmp_path,
        times=tmp_path / "times.jsonl",
        redactions=tmp_path / "redactions.jsonl",
    )
    times = [json.loads(line) for line in (tmp_path / "times.jsonl").read_text().splitlines()]
    return (tmp_path / "engine.log").read_bytes(), result, times


def test_a_short_log_is_kept_as_it_came(tmp_path: Path) -> None:
    written(tmp_path, b"one\ntwo", b"\nthree").close()

    content, result, times = joined(tmp_path)

    assert content == b"one\ntwo\nthree"
    assert (result.lost_bytes, result.cut_at) == (0, None)
    # "one\n" came with the first read; "two" waited for its end, from the first read on; "three" is flushed
    assert times == [
        {"offset": 0, "t_ns": 1000},
        {"offset": 4, "t_ns": 1000},
        {"offset": 8, "t_ns": 1001},
    ]


def test_beyond_the_limit_head_and_tail_are_kept_and_the_loss_is_exact(tmp_path: Path) -> None:
    lines = [b"line %04d\n" % number for number in range(1000)]  # 10 bytes each, 10,000 in all
    written(tmp_path, *lines, limit=1000).close()

    content, result, times = joined(tmp_path)

    # Head: 500 bytes = 50 lines. Tail files of 250 bytes = 25 lines: after the head 950 lines, 38 files; the
    # last two are kept: lines 950 to 999. Lost: 10,000 - 500 - 500 = 9,000.
    head, tail = b"".join(lines[:50]), b"".join(lines[950:])
    assert result.lost_bytes == 9000
    assert result.cut_at == 500
    assert content == head + b"\n[assay: 9000 bytes left out here]\n" + tail
    offsets = [row["offset"] for row in times]
    assert offsets[49:51] == [490, len(content) - 500]
    assert content[offsets[-1] :] == b"line 0999\n"


def test_joining_twice_changes_nothing(tmp_path: Path) -> None:
    written(tmp_path, *[b"x" * 99 + b"\n"] * 50, limit=1000).close()

    assert joined(tmp_path) == joined(tmp_path)


def test_joining_goes_on_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, *[b"%099d\n" % n for n in range(50)], limit=1000).close()

    def dies(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(logs, "_rewrite", dies)
        with pytest.raises(KeyboardInterrupt):
            joined(tmp_path)
    content, result, _ = joined(tmp_path)

    # head 5 lines, tail files of 300 bytes (limit 250, passed by the third line): last two hold 6 or fewer
    assert content.startswith(b"%099d\n" % 0)
    assert content.endswith(b"%099d\n" % 49)
    assert content.count(b"bytes left out here") == 1
    assert result.lost_bytes > 0


def test_a_secret_cut_by_the_reads_is_found(tmp_path: Path) -> None:
    written(tmp_path, b"key=top-sec", b"ret-value done\n", KEY="top-secret-value").close()

    content, _, _ = joined(tmp_path)

    assert content == b"key=[redacted value:KEY] done\n"
    entry = json.loads((tmp_path / "redactions.jsonl").read_text())
    assert entry == {"offset": 4, "rule": "value:KEY"}


def test_a_line_without_end_is_not_held_for_ever(tmp_path: Path) -> None:
    log = written(tmp_path, b"y" * 1_100_000, limit=10_000_000)

    assert (tmp_path / "engine.log").stat().st_size > 1_000_000
    log.close()


def test_a_full_disk_is_counted_and_does_not_stop_the_writer(tmp_path: Path) -> None:
    # every write to /dev/full fails with ENOSPC
    log = BoundedLog(Path("/dev/full"), tmp_path, limit_bytes=1000, redactor=Redactor({}))

    log.write(b"lost\n", 1)
    log.write(b"lost too\n", 2)
    log.close()

    assert log.disk_full_bytes == 14  # 5 + 9
    assert log.written == 14


def test_last_lines_come_from_the_tail_too(tmp_path: Path) -> None:
    written(tmp_path, *[b"line %04d\n" % n for n in range(500)], limit=1000).close()

    assert last_lines(tmp_path / "engine.log", tmp_path, count=2) == ["line 0498", "line 0499"]
    joined(tmp_path)
    assert last_lines(tmp_path / "engine.log", tmp_path, count=1) == ["line 0499"]
