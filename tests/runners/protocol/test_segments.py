"""Rows appended while a run goes come back, whole or torn, limited or not, and as Parquet."""

import os
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runners.protocol import segment_reader
from runners.protocol.errors import RunFailed
from runners.protocol.segment_reader import (
    SegmentReading,
    gaps_of,
    read_batches,
    segment_files,
    to_parquet,
)
from runners.protocol.segment_writer import SegmentWriter
from runners.protocol.segments import END_OF_STREAM, SegmentStream, segment_name
from runners.protocol.tables import WIRE

KEYED = pa.schema([("key", pa.string()), ("value", pa.int64())])


def rows(first: int, count: int, size: int = 100) -> list[tuple[str, int, bytes]]:
    return [(f"a{n}", n, n.to_bytes(4, "big") * (size // 4)) for n in range(first, first + count)]


def new_stream(folder: Path, limit_bytes: int = 2**24, **options: Any) -> SegmentStream:
    folder.mkdir(exist_ok=True, parents=True)
    return SegmentStream(folder, "wire", WIRE, worker=0, limit_bytes=limit_bytes, **options)


def written(folder: Path, data: list[Any], **options: Any) -> SegmentStream:
    stream = new_stream(folder, **options)
    for row in data:
        stream.append(row)
        if row[1] % 50 == 49:
            stream.drain()
    stream.close()
    return stream


def read(folder: Path) -> tuple[list[tuple[Any, ...]], list[SegmentReading]]:
    readings = [SegmentReading(segment=s) for s in segment_files(folder, "wire")]
    found: list[tuple[Any, ...]] = []
    for reading in readings:
        for batch in read_batches(reading, WIRE):
            found.extend(zip(*(c.to_pylist() for c in batch.columns), strict=True))
    return found, readings


def test_rows_come_back_in_order_and_the_end_is_marked(tmp_path: Path) -> None:
    data = rows(0, 1234)

    written(tmp_path, data)

    found, readings = read(tmp_path)
    assert found == data
    assert [r.ended for r in readings] == [True]
    assert gaps_of(readings) == []


def test_an_empty_stream_leaves_a_segment_that_says_so(tmp_path: Path) -> None:
    written(tmp_path, [])

    found, readings = read(tmp_path)
    assert found == []
    assert readings[0].ended
    assert to_parquet(tmp_path, "wire", tmp_path / "w.parquet", WIRE).gaps == ()


def test_a_segment_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / segment_name("wire", 0, 0)).write_bytes(b"of another writer")
    stream = new_stream(tmp_path)
    stream.append(rows(0, 1)[0])

    report = stream.close()

    assert report.ended is not None
    assert "File exists" in report.ended.reason
    assert (tmp_path / segment_name("wire", 0, 0)).read_bytes() == b"of another writer"


# The byte limit


def test_beyond_its_limit_a_stream_keeps_head_and_tail_and_names_the_loss(tmp_path: Path) -> None:
    data = rows(0, 4000, size=400)  # 1.6 MB and more, limit 400 kB

    report = written(tmp_path, data, limit_bytes=400_000).report()

    found, readings = read(tmp_path)
    on_disk = sum(p.stat().st_size for p in tmp_path.iterdir())
    assert on_disk <= 400_000
    assert on_disk > 300_000  # and the room is used
    head = next(n for n, row in enumerate(found) if row != data[n])
    tail = found[head:]
    assert head * 400 > 150_000
    assert tail == data[-len(tail) :]
    assert len(tail) * 400 > 100_000
    assert report.rows_given_up == 4000 - len(found)
    assert report.rows_written == 4000
    (gap,) = gaps_of(readings)
    assert f"rows {head} to {4000 - len(tail) - 1} were given up" in gap["what"]
    assert "evidence.stream_limit_bytes" in gap["needed"]


def test_a_stream_under_its_limit_gives_nothing_up(tmp_path: Path) -> None:
    report = written(tmp_path, rows(0, 500), limit_bytes=400_000).report()

    assert (report.rows_given_up, report.ended) == (0, None)
    assert report.bytes_kept == sum(p.stat().st_size for p in tmp_path.iterdir())


# Torn streams


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(min_value=0, max_value=10**6))
def test_a_stream_torn_anywhere_gives_every_complete_batch(cut: int, tmp_path: Path) -> None:
    folder = tmp_path / f"cut-{cut}"
    stream = new_stream(folder)
    data = rows(0, 500)
    ends: list[tuple[int, int]] = []  # (bytes, rows) after each batch
    for row in data:
        stream.append(row)
        if row[1] % 50 == 49:
            stream.drain()
            ends.append((stream.report().bytes_written, row[1] + 1))
    stream.close()
    path = folder / segment_name("wire", 0, 0)
    size = path.stat().st_size
    at = cut % size
    os.truncate(path, at)

    found, (reading,) = read(folder)

    complete = max((n for size_then, n in ends if size_then <= at), default=0)
    assert found == data[:complete]
    assert not reading.ended
    (gap,) = gaps_of([reading])
    assert f"after {complete} rows" in gap["what"]


@pytest.mark.parametrize("tail", [b"\0" * 4096, b"\xff" * 64, b"half a message"])
def test_what_a_crash_leaves_after_the_last_message_is_not_read_as_rows(
    tail: bytes, tmp_path: Path
) -> None:
    written(tmp_path, rows(0, 100))
    path = tmp_path / segment_name("wire", 0, 0)
    path.write_bytes(path.read_bytes().removesuffix(END_OF_STREAM) + tail)

    found, (reading,) = read(tmp_path)

    assert found == rows(0, 100)
    assert not reading.ended
    assert reading.unread_bytes == len(tail)


def test_a_file_that_is_no_segment_is_a_gap_and_the_others_are_read(tmp_path: Path) -> None:
    written(tmp_path, rows(0, 10))
    (tmp_path / segment_name("wire", 1, 0)).write_bytes(b"nonsense")

    conversion = to_parquet(tmp_path, "wire", tmp_path / "w.parquet", WIRE)

    assert conversion.rows == 10
    (gap,) = conversion.gaps
    assert segment_name("wire", 1, 0) in gap["what"]


# Parquet


def test_parquet_holds_the_rows_in_groups_and_packs_them(tmp_path: Path) -> None:
    data = rows(0, 3000)
    written(tmp_path / "segments", data)

    conversion = to_parquet(tmp_path / "segments", "wire", tmp_path / "out" / "w.parquet", WIRE)

    table = pq.read_table(tmp_path / "out" / "w.parquet")
    assert table.schema.equals(WIRE)
    assert [tuple(r.values()) for r in table.to_pylist()] == data
    assert conversion.rows == 3000
    metadata = pq.ParquetFile(tmp_path / "out" / "w.parquet").metadata
    assert metadata.row_group(0).column(2).compression == "ZSTD"


def test_conversion_holds_one_row_group_and_not_the_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runners.protocol.segment_reader._GROUP_BYTES", 100_000)
    written(tmp_path / "segments", rows(0, 20_000, size=400), limit_bytes=2**26)
    before = pa.total_allocated_bytes()
    pool = pa.default_memory_pool()
    peaks: list[int] = []
    real = pq.ParquetWriter.write_table

    def watched(self: Any, table: Any, **options: Any) -> None:
        peaks.append(pool.bytes_allocated() - before)
        real(self, table, **options)

    monkeypatch.setattr(pq.ParquetWriter, "write_table", watched)

    to_parquet(tmp_path / "segments", "wire", tmp_path / "w.parquet", WIRE)

    assert pq.ParquetFile(tmp_path / "w.parquet").num_row_groups == len(peaks) > 50
    assert max(peaks) < 1_000_000  # of 8 MB


def test_latest_by_keeps_the_last_row_of_each_key_across_segments(tmp_path: Path) -> None:
    for worker, values in ((0, [("x", 1), ("y", 1), ("x", 2)]), (1, [("z", 5)])):
        stream = SegmentStream(tmp_path, "keyed", KEYED, worker=worker, limit_bytes=2**20)
        for row in values:
            stream.append(row)
            stream.drain()
        stream.close()

    to_parquet(tmp_path, "keyed", tmp_path / "k.parquet", KEYED, latest_by="key")

    table = pq.read_table(tmp_path / "k.parquet").to_pylist()
    assert [(r["key"], r["value"]) for r in table] == [("y", 1), ("x", 2), ("z", 5)]


def test_grouped_by_brings_the_rows_of_a_key_together_and_keeps_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Three rows are a stretch: y1 x1 y2 | x2 x3 y3. Each is sorted by key, and no row leaves its stretch.
    monkeypatch.setattr(segment_reader, "_STRETCH_ROWS", 3)
    stream = SegmentStream(tmp_path, "keyed", KEYED, worker=0, limit_bytes=2**20)
    for row in (("y", 1), ("x", 1), ("y", 2), ("x", 2), ("x", 3), ("y", 3)):
        stream.append(row)
        stream.drain()
    stream.close()

    done = to_parquet(tmp_path, "keyed", tmp_path / "k.parquet", KEYED, grouped_by="key")

    table = pq.read_table(tmp_path / "k.parquet").to_pylist()
    assert [(r["key"], r["value"]) for r in table] == [
        *(("x", 1), ("y", 1), ("y", 2)),
        *(("x", 2), ("x", 3), ("y", 3)),
    ]
    assert done.rows == 6


def test_a_stream_that_never_was_gives_a_file_without_rows(tmp_path: Path) -> None:
    conversion = to_parquet(tmp_path, "wire", tmp_path / "w.parquet", WIRE)

    assert (conversion.rows, conversion.readings) == (0, ())
    assert pq.read_table(tmp_path / "w.parquet").schema.equals(WIRE)


# The writer thread


def test_rows_are_on_disk_within_a_second_without_a_close(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, limit_bytes=2**24, interval_s=0.1)
    stream = writer.open("wire", WIRE)
    writer.start()
    for row in rows(0, 100):
        stream.append(row)
    appended = time.monotonic()
    found: list[Any] = []
    while len(found) < 100 and time.monotonic() - appended < 5:
        time.sleep(0.01)
        found, _ = read(tmp_path)
    waited = time.monotonic() - appended
    writer.close()

    assert found == rows(0, 100)
    assert waited < 1.0


def test_appends_from_several_threads_all_arrive(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, limit_bytes=2**26, interval_s=0.01)
    stream = writer.open("wire", WIRE)
    writer.start()

    def append_all(first: int) -> None:
        for row in rows(first, 5000):
            stream.append(row)

    threads = [threading.Thread(target=append_all, args=(n * 5000,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()

    found, _ = read(tmp_path)
    assert sorted(found, key=lambda r: r[1]) == rows(0, 20_000)


def test_a_row_that_does_not_fit_ends_its_stream_only_and_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    writer = SegmentWriter(tmp_path, limit_bytes=2**24, on_end=lambda r: told.append(r.stream))
    wire, keyed = writer.open("wire", WIRE), writer.open("keyed", KEYED)
    wire.append(("a", "no time", b""))
    keyed.append(("x", 1))

    wire_report, keyed_report = writer.close()

    assert wire_report.ended is not None
    assert "does not fit the schema" in wire_report.ended.reason
    assert wire_report.ended.rows_dropped == 1
    assert keyed_report.ended is None
    assert keyed_report.rows_written == 1
    assert told == ["wire"]


@pytest.mark.parametrize("interval_s", [0, 1.5])
def test_a_flush_interval_over_a_second_is_refused(interval_s: float, tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="interval_s"):
        SegmentWriter(tmp_path, limit_bytes=1, interval_s=interval_s)


def test_two_writers_of_one_stream_are_refused(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, limit_bytes=2**20)
    writer.open("wire", WIRE)

    with pytest.raises(RunFailed, match="wire"):
        writer.open("wire", WIRE)
