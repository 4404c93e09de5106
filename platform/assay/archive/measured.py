"""The attempts of the measured phase in the order in which the client made them, some rows at a time.

Their table is sorted once and put aside as an Arrow file without a name, so that a long run is not held.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from assay.archive.file_shelf import nameless
from assay.archive.pacing import Pacing
from runners.protocol import layout, tables
from runners.protocol.events import Phase

_ROWS = 256
_SCHEMA = pa.schema(
    [*tables.ATTEMPTS, ("row", pa.int64()), ("unscheduled", pa.string())]  # ``row``: from 1
)


class MeasuredAttempts:
    """``ids`` and ``sizes`` (bytes received) of all rows are held; ``rows`` reads the others."""

    def __init__(self, bundle: Path, *, aside: Path) -> None:
        table = _sorted(bundle / layout.ATTEMPTS)
        self.ids: pa.Array = table["attempt_id"].combine_chunks()
        self.sizes: NDArray[np.int64] = pc.fill_null(table["bytes_received"], 0).to_numpy()
        self._file = nameless(aside, self)
        pacing = Pacing(bundle)
        with pa.ipc.new_file(self._file, _SCHEMA) as writer:
            for batch in table.to_batches(max_chunksize=_ROWS):
                writer.write_batch(_with_reasons(batch, pacing))
        self._file.seek(0)
        self._reader = pa.ipc.open_file(self._file)

    def __len__(self) -> int:
        return len(self.ids)

    def rows(self, start: int, stop: int) -> pa.Table:
        """With ``row``, the place in the bundle's table, and ``unscheduled``, why a time is null."""
        first = start // _ROWS
        batches = [self._reader.get_batch(n) for n in range(first, -(-stop // _ROWS))]
        found = pa.Table.from_batches(batches, schema=_SCHEMA)
        return found.slice(start - first * _ROWS, stop - start)

    def segments(self) -> Iterator[tuple[str, str | None]]:
        """(attempt, its segment of the plan)."""
        for n in range(self._reader.num_record_batches):
            batch = self._reader.get_batch(n)
            names, segments = batch["attempt_id"].to_pylist(), batch["segment"].to_pylist()
            yield from zip(names, segments, strict=True)


def _sorted(path: Path) -> pa.Table:
    if not path.is_file():
        return _SCHEMA.empty_table().drop_columns(["unscheduled"])
    table = pq.read_table(path)
    table = table.append_column("row", pa.array(np.arange(1, table.num_rows + 1)))
    table = table.filter(pc.equal(table["phase"], Phase.measure.value))
    made = [_or_null(table["created_ns"]), _or_null(table["scheduled_ns"]), pa.scalar(0)]
    keys = pa.table({"made": pc.coalesce(*made), "attempt_id": table["attempt_id"]})
    order = pc.sort_indices(keys, [("made", "ascending"), ("attempt_id", "ascending")])
    return table.take(order).combine_chunks()


def _or_null(times: pa.ChunkedArray) -> pa.ChunkedArray:
    """An instant of 0 was not taken."""
    return pc.if_else(pc.equal(times, 0), pa.scalar(None, pa.int64()), times)


def _with_reasons(batch: pa.RecordBatch, pacing: Pacing) -> pa.RecordBatch:
    named = batch.select(["request_id", "segment", "retry_of"]).to_pylist()
    columns: dict[str, Any] = {name: batch[name] for name in batch.schema.names}
    for field in _SCHEMA:
        columns.setdefault(field.name, pa.nulls(batch.num_rows, field.type))
    columns["unscheduled"] = pa.array([pacing.unscheduled(row).value for row in named], pa.string())
    return pa.RecordBatch.from_arrays([columns[f.name] for f in _SCHEMA], schema=_SCHEMA)
