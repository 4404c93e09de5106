"""Take back what a segmented stream holds, torn or whole, and rewrite it as Parquet in bounded memory."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from runners.protocol.documents import Gap
from runners.protocol.segments import END_OF_STREAM, SUFFIX

_NAME = re.compile(
    r"(?P<stream>[a-z_]+)-(?P<worker>\d+)-(?P<number>\d+)" + re.escape(SUFFIX) + r"\Z"
)
_GROUP_ROWS = 65_536
_GROUP_BYTES = 16 * 2**20
# Rows of which only the last of each key is kept are sorted by who reads them: by few of their groups.
_KEYED_GROUP_ROWS = 8_192
# A stretch that is sorted is written in smaller groups: a reader of one key needs few of them.
_STRETCH_ROWS = 262_144
_STRETCH_BYTES = 32 * 2**20
_SORTED_GROUP_ROWS = 16_384
_SORTED_GROUP_BYTES = 4 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class SegmentFile:
    stream: str
    worker: int
    number: int
    path: Path = field(compare=False)


@dataclass(slots=True, kw_only=True)
class SegmentReading:
    """State of one segment after its batches were read."""

    segment: SegmentFile
    first_row: int | None = None
    rows: int = 0
    ended: bool = False  # the end mark was there: the writer closed it
    unread_bytes: int = 0
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """What a stream became: rows written to Parquet, and what was missing, as gaps."""

    stream: str
    target: Path
    rows: int
    readings: tuple[SegmentReading, ...]
    gaps: tuple[Gap, ...]


def segment_files(
    folder: Path, stream: str | None = None, worker: int | None = None
) -> list[SegmentFile]:
    """Segments of a folder in order of stream, worker and number; other files are left alone."""
    found = []
    for path in folder.glob(f"*{SUFFIX}"):
        if name := _NAME.match(path.name):
            found.append(
                SegmentFile(
                    stream=name["stream"],
                    worker=int(name["worker"]),
                    number=int(name["number"]),
                    path=path,
                )
            )
    return sorted(
        s
        for s in found
        if (stream is None or s.stream == stream) and (worker is None or s.worker == worker)
    )


def read_batches(reading: SegmentReading, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Every complete record batch of one segment; ``reading`` then says how it ended.

    A segment torn anywhere (the writer was killed, the disk was full) gives all batches before the tear.
    """
    with pa.OSFile(str(reading.segment.path)) as source:
        good = 0
        try:
            stream = pa.ipc.open_stream(source)
            if not stream.schema.equals(schema, check_metadata=False):
                reading.problem = "its schema is another one"
                return
            reading.first_row = int((stream.schema.metadata or {}).get(b"assay.first_row", b"0"))
            good = source.tell()
            while True:
                batch = stream.read_next_batch()
                batch.validate(full=True)
                good = source.tell()
                reading.rows += batch.num_rows
                yield batch
        except StopIteration:
            pass
        except (pa.ArrowException, OSError, ValueError) as error:
            reading.problem = str(error)
        finally:
            reading.unread_bytes = source.size() - good
        source.seek(good)
        if reading.problem is None and source.read() == END_OF_STREAM:
            reading.ended = True
            reading.unread_bytes = 0


def to_parquet(
    folder: Path,
    stream: str,
    target: Path,
    schema: pa.Schema,
    *,
    worker: int | None = None,
    latest_by: str | None = None,
    grouped_by: str | None = None,
) -> Conversion:
    """Rewrite a stream's segments as one Parquet file (zstd), a row group at a time.

    Memory holds one row group (64 Ki rows or 16 MiB); with ``latest_by`` a smaller one and an entry per key.
    ``grouped_by`` names a column whose equal values are brought together within stretches of 32 MiB; rows of
    one value keep their order, in the stretch and over all of them.
    ``latest_by`` names a key column of which only the last row is kept: the attempts stream holds a
    snapshot of an attempt at each step of its life. A stream without segments gives a file without rows.
    """
    segments = segment_files(folder, stream, worker)
    last = _last_rows(segments, schema, latest_by) if latest_by else None
    readings = [SegmentReading(segment=s) for s in segments]
    rows = 0
    is_whole = _group_is_full if grouped_by is None else _stretch_is_full
    if latest_by is not None:
        is_whole = _keyed_group_is_full
    with _writer(target, schema) as writer:
        pending: list[pa.RecordBatch] = []
        pending_rows = pending_bytes = position = 0
        for reading in readings:
            for batch in read_batches(reading, schema):
                keep = batch if last is None else _only_last(batch, position, last, latest_by)
                position += batch.num_rows
                pending.append(keep)
                pending_rows += keep.num_rows
                pending_bytes += keep.nbytes
                if is_whole(pending_rows, pending_bytes):
                    rows += _flush(writer, pending, schema, grouped_by)
                    pending_rows = pending_bytes = 0
        rows += _flush(writer, pending, schema, grouped_by)
    return Conversion(
        stream=stream,
        target=target,
        rows=rows,
        readings=tuple(readings),
        gaps=tuple(gaps_of(readings)),
    )


def gaps_of(readings: Sequence[SegmentReading]) -> list[Gap]:
    """What the segments of a stream show to be missing: rows given up at the limit, a cut end, damage."""
    gaps: list[Gap] = []
    previous: SegmentReading | None = None
    for reading in readings:
        segment = reading.segment
        expected = _row_after(previous, segment)
        if reading.first_row is not None and expected is not None and reading.first_row > expected:
            gaps.append(
                Gap(
                    what=f"{segment.stream} of worker {segment.worker}: rows {expected} to "
                    f"{reading.first_row - 1} were given up at the stream's byte limit",
                    affects=f"everything read from {segment.stream} between its head and its tail",
                    needed="a larger evidence.stream_limit_bytes",
                    state="open",
                )
            )
        if not reading.ended:
            gaps.append(_cut(reading))
        previous = reading
    return gaps


def _row_after(previous: SegmentReading | None, segment: SegmentFile) -> int | None:
    if previous is None or previous.first_row is None:
        return None
    before = previous.segment
    if (before.stream, before.worker) != (segment.stream, segment.worker):
        return None
    return previous.first_row + previous.rows


def _cut(reading: SegmentReading) -> Gap:
    why = f" ({reading.problem})" if reading.problem else ""
    return Gap(
        what=f"{reading.segment.path.name}: ends without its end mark after {reading.rows} rows, "
        f"{reading.unread_bytes} bytes unreadable{why}",
        affects=f"rows of {reading.segment.stream} after this point, at most the last flush interval "
        "if the process died",
        needed="a run that ends by itself",
        state="open",
    )


def _last_rows(segments: list[SegmentFile], schema: pa.Schema, key: str) -> dict[str, int]:
    last: dict[str, int] = {}
    position = 0
    for segment in segments:
        for batch in read_batches(SegmentReading(segment=segment), schema):
            for value in batch.column(key).to_pylist():
                last[value] = position
                position += 1
    return last


def _only_last(
    batch: pa.RecordBatch, position: int, last: dict[str, int], key: str | None
) -> pa.RecordBatch:
    values = batch.column(key).to_pylist()
    return batch.filter(pa.array([last[v] == position + i for i, v in enumerate(values)]))


def _group_is_full(rows: int, size: int) -> bool:
    return rows >= _GROUP_ROWS or size >= _GROUP_BYTES


def _keyed_group_is_full(rows: int, size: int) -> bool:
    return rows >= _KEYED_GROUP_ROWS or size >= _SORTED_GROUP_BYTES


def _stretch_is_full(rows: int, size: int) -> bool:
    return rows >= _STRETCH_ROWS or size >= _STRETCH_BYTES


def _flush(
    writer: pq.ParquetWriter,
    pending: list[pa.RecordBatch],
    schema: pa.Schema,
    grouped_by: str | None,
) -> int:
    table = pa.Table.from_batches(pending, schema=schema).combine_chunks()
    pending.clear()
    if table.num_rows and grouped_by is not None:
        group_rows = table.num_rows * _SORTED_GROUP_BYTES // max(1, table.nbytes)
        writer.write_table(
            table.sort_by([(grouped_by, "ascending")]),  # it is stable
            row_group_size=max(1, min(group_rows, _SORTED_GROUP_ROWS)),
        )
    elif table.num_rows:
        writer.write_table(table, row_group_size=table.num_rows)
    return int(table.num_rows)


def _writer(target: Path, schema: pa.Schema) -> pq.ParquetWriter:
    target.parent.mkdir(parents=True, exist_ok=True)
    texts = [f.name for f in schema if pa.types.is_string(f.type)]
    # Times grow in small steps and payloads repeat only in parts: differences and zstd do better than
    # a dictionary, which would only hold every value once and give up.
    times = {f.name: "DELTA_BINARY_PACKED" for f in schema if pa.types.is_int64(f.type)}
    return pq.ParquetWriter(
        target,
        schema,
        compression="zstd",
        use_dictionary=texts or False,
        column_encoding=times or None,
    )
