"""The client process is killed in mid-run, or its disk fills: what was seen is known."""

import asyncio
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvloop

from runners.load.driver import drive
from runners.load.limits import StopReason
from runners.load.recorder import Recorder
from runners.load.report import DriveReport
from runners.protocol.segment_writer import SegmentWriter
from runners.protocol.segments import StreamReport
from tests.runners.load.drives import PROMPTS, load_of, plan_row, read_back
from tests.runners.load.servers import HEAD_CHUNKED, Exchange, chunk, event, serving

pytestmark = pytest.mark.fault

ROOT = Path(__file__).parents[3]

DRIVES = """
import sys
from pathlib import Path
import uvloop
from runners.load.driver import drive
from runners.load.recorder import Recorder
from runners.protocol.segment_writer import SegmentWriter
from tests.runners.load.drives import PROMPTS, load_of, plan_row

writer = SegmentWriter(Path(sys.argv[1]), limit_bytes=2**26, interval_s=0.05)
recorder = Recorder(writer)
writer.start()
uvloop.run(drive(
    [plan_row(1, "load", slot=0), plan_row(2, "load", slot=1)], PROMPTS, base_url=sys.argv[2],
    model="m", load=load_of(concurrency=2), recorder=recorder,
))
"""


def test_kill_9_of_the_client_leaves_its_attempts_open_with_all_their_reads(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        both_stream = asyncio.Barrier(3)

        async def streams_without_end(exchange: Exchange) -> None:
            await exchange.send(HEAD_CHUNKED)
            for number in itertools.count():
                if number == 50:
                    await both_stream.wait()
                await exchange.send(chunk(event("x" * 50)))
                await asyncio.sleep(0.002)

        async with serving(streams_without_end) as server:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", DRIVES, str(tmp_path / "segments"), server.url),
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
            )
            try:
                async with asyncio.timeout(60):
                    await both_stream.wait()
                    await asyncio.sleep(0.3)
            finally:
                process.kill()
                await process.wait()

    uvloop.run(main())

    attempts, reads = read_back(tmp_path)
    assert set(attempts) == {"load-0001.A1", "load-0002.A1"}
    for name, attempt in attempts.items():
        assert attempt["sent_ns"] is not None
        assert (attempt["end"], attempt["ended_ns"]) == (None, None)
        received = b"".join(data for _, data in reads[name])
        assert received.startswith(HEAD_CHUNKED)
        assert received.count(b"data: ") > 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mount.returncode:
        pytest.skip(f"this user may not mount a tmpfs: {mount.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_fills_stops_the_drive_and_says_which_stream_ended(
    small_disk: Path, tmp_path: Path
) -> None:
    async def floods(exchange: Exchange) -> None:
        await exchange.send(HEAD_CHUNKED)
        while not exchange.reader.at_eof():
            await exchange.send(chunk(event("x" * 8000)))
            await asyncio.sleep(0.002)
        exchange.close()

    async def main() -> DriveReport:
        async with serving(floods) as server:
            return await drive(
                [plan_row(1)],
                PROMPTS,
                base_url=server.url,
                model="m",
                load=load_of(timeouts={"total_s": 60.0}),
                recorder=recorder,
            )

    told: list[StreamReport] = []
    writer = SegmentWriter(
        small_disk / "segments", limit_bytes=2**26, interval_s=0.02, on_end=told.append
    )
    recorder = Recorder(writer)
    writer.start()
    report = uvloop.run(main())
    reports = {r.stream: r for r in writer.close()}

    assert report.stop_reason is StopReason.capture_ended
    assert report.unfinalised == 1
    assert "wire" in {r.stream for r in told}
    wire_end = reports["wire"].ended
    assert wire_end is not None
    assert "No space left on device" in wire_end.reason
    (tmp_path / "segments").mkdir()
    for path in (small_disk / "segments").iterdir():
        (tmp_path / "segments" / path.name).write_bytes(path.read_bytes())
    attempts, reads = read_back(tmp_path)
    assert attempts["cases-0001.A1"]["sent_ns"] is not None
    assert len(reads["cases-0001.A1"]) == reports["wire"].rows_written > 5
