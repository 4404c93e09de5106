"""The attempts of the measured phase in the order in which the client made them, some rows at a time.

Their table is sorted once and put aside as an Arrow file without a name, so that a long run is not held.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from assay.archive.file_shelf import nameless
from assay.archive.pacing import Pacing
from assay.archive.parquet_columns import read_columns
from runners.protocol import layout, tables
from runners.protocol.events import Phase

_ROWS = 256
_AT_ONCE = 16 * _ROWS
_HELD_GROUPS = 8
_KEYS = ["attempt_id", "phase", "created_ns", "scheduled_ns", "bytes_received"]
_SCHEMA = pa.schema(
    [*tables.ATTEMPTS, ("row", pa.int64()), ("unscheduled", pa.string())]  # ``row``: from 1
)


class MeasuredAttempts:
    """``ids`` and ``sizes`` (bytes received) of all rows are held; ``rows`` reads the others.

    ``ahead_ns``: by how much the clocks of load workers' processes are ahead of the run's own.
    """

    def __init__(
        self, bundle: Path, *, aside: Path, ahead_ns: Mapping[int, int] = MappingProxyType({})
    ) -> None:
        path = bundle / layout.ATTEMPTS
        self.ids, self.sizes, order = _order(path, ahead_ns)
        self._file = nameless(aside, self)
        pacing = Pacing(bundle)
        with pa.ipc.new_file(self._file, _SCHEMA) as writer:
            for table in _in_order(path, order):
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


def _order(
    path: Path, ahead_ns: Mapping[int, int]
) -> tuple[pa.Array, NDArray[np.int64], NDArray[np.int64]]:
    """Ids and bytes received of the measured attempts, and their places in the bundle's table, in order."""
    if not path.is_file():
        return pa.array([], pa.string()), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    table = read_columns(path, [*_KEYS, *(["worker"] if ahead_ns else [])])
    table = table.append_column("place", pa.array(np.arange(table.num_rows)))
    table = table.filter(pc.equal(table["phase"], Phase.measure.value))
    made = [_or_null(table["created_ns"]), _or_null(table["scheduled_ns"]), pa.scalar(0)]
    instants = pc.coalesce(*made)
    if ahead_ns:  # on the run's own clock
        ahead = [ahead_ns.get(worker, 0) for worker in table["worker"].to_pylist()]
        instants = pc.subtract(instants, pa.array(ahead, pa.int64()))
    keys = pa.table({"made": instants, "attempt_id": table["attempt_id"]})
    order = pc.sort_indices(keys, [("made", "ascending"), ("attempt_id", "ascending")])
    table = table.take(order).combine_chunks()
    sizes = pc.fill_null(table["bytes_received"], 0).to_numpy()
    return table["attempt_id"].combine_chunks(), sizes, table["place"].to_numpy()


def _in_order(path: Path, order: NDArray[np.int64]) -> Iterator[pa.Table]:
    """The rows at these places of the bundle's table, each with its number there, some at a time.

    The table holds them about as they ended, so that neighbours in order lie in few of its row groups.
    """
    if not len(order):
        return
    with pq.ParquetFile(path) as file:
        sizes = [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)]
        starts = np.cumsum([0, *sizes])
        read = lru_cache(maxsize=_HELD_GROUPS)(file.read_row_group)
        for first in range(0, len(order), _AT_ONCE):
            places = order[first : first + _AT_ONCE]
            groups = np.searchsorted(starts, places, side="right") - 1
            found, at = [], []
            for group in np.unique(groups).tolist():
                own = np.flatnonzero(groups == group)
                found.append(read(group).take(pa.array(places[own] - starts[group])))
                at.append(own)
            table = pa.concat_tables(found).take(pa.array(np.argsort(np.concatenate(at))))
            yield table.append_column("row", pa.array(places + 1)).combine_chunks()


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
