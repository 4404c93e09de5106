"""The capturing process is killed; the disk fills. What was captured stays readable."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from runners.protocol.segment_reader import segment_files, to_parquet
from runners.protocol.segment_writer import SegmentWriter
from runners.protocol.segments import StreamReport
from runners.protocol.tables import WIRE

pytestmark = pytest.mark.fault

CAPTURES_FOR_EVER = """
import sys, time
from pathlib import Path
from runners.protocol.segment_writer import SegmentWriter
from runners.protocol.tables import WIRE

writer = SegmentWriter(Path(sys.argv[1]), limit_bytes=2**26, interval_s=0.05)
stream = writer.open("wire", WIRE)
writer.start()
number = 0
while True:
    for _ in range(500):
        stream.append((f"a{number}", number, number.to_bytes(8, "big") * 20))
        number += 1
    time.sleep(0.005)
"""


def test_kill_9_of_the_capturing_process_leaves_readable_segments(tmp_path: Path) -> None:
    folder = tmp_path / "segments"
    process = subprocess.Popen(
        [sys.executable, "-c", CAPTURES_FOR_EVER, str(folder)], cwd=Path(__file__).parents[3]
    )
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            files = segment_files(folder) if folder.exists() else []
            if sum(s.path.stat().st_size for s in files) > 2_000_000:
                break
            time.sleep(0.02)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()

    conversion = to_parquet(folder, "wire", tmp_path / "w.parquet", WIRE)

    table = pq.read_table(tmp_path / "w.parquet")
    numbers = table.column("t_ns").to_pylist()
    assert len(numbers) > 5_000
    assert numbers == list(
        range(len(numbers))
    )  # everything from the start, nothing in between lost
    assert table.column("data")[-1].as_py() == numbers[-1].to_bytes(8, "big") * 20
    (gap,) = conversion.gaps
    assert "without its end mark" in gap["what"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one MiB, or a skip where this user may not mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)],
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


def fill(folder: Path) -> tuple[list[StreamReport], list[StreamReport], int]:
    """Append 4 MB in steps; returns the reports at the close, those told meanwhile, and rows appended."""
    told: list[StreamReport] = []
    writer = SegmentWriter(folder, limit_bytes=2**26, interval_s=0.01, on_end=told.append)
    stream = writer.open("wire", WIRE)
    writer.start()
    total = 20_000
    for number in range(total):
        stream.append((f"a{number}", number, number.to_bytes(8, "big") * 25))
        if number % 500 == 0:
            time.sleep(0.005)
    return writer.close(), told, total


def check_full(folder: Path, tmp_path: Path, why: str) -> None:
    before = time.monotonic_ns()

    (report,), told, total = fill(folder)

    assert report.ended is not None
    assert why in report.ended.reason
    assert before < report.ended.t_ns < time.monotonic_ns()
    assert len(told) == 1  # told once, when it happened
    assert report.rows_written + report.ended.rows_dropped == total
    conversion = to_parquet(folder, "wire", tmp_path / "w.parquet", WIRE)
    numbers = pq.read_table(tmp_path / "w.parquet").column("t_ns").to_pylist()
    assert numbers == list(range(report.rows_written))
    assert len(numbers) > 1_000
    (gap,) = conversion.gaps
    assert "0 bytes unreadable" in gap["what"]  # half a message was taken back


def test_a_disk_that_fills_ends_the_stream_and_keeps_what_was_captured(
    small_disk: Path, tmp_path: Path
) -> None:
    check_full(small_disk / "segments", tmp_path, "No space left on device")


def test_a_file_that_may_not_grow_ends_the_stream_the_same_way(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    try:
        (report,), _, total = fill(tmp_path / "segments")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert report.ended is not None
    assert "File too large" in report.ended.reason
    assert report.rows_written + report.ended.rows_dropped == total
    to_parquet(tmp_path / "segments", "wire", tmp_path / "w.parquet", WIRE)
    assert pq.read_table(tmp_path / "w.parquet").num_rows == report.rows_written > 1_000
