"""Worker processes that read batches of attempts, forked before anything large is read."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context

import pyarrow as pa

from assay.analysis.observed import ObservedAttempt
from assay.analysis.run_reading import Gathered
from assay.analysis.structures.reading import WorkloadReader
from assay.archive.batch_reading import BatchRead, Map, Order, read_batch
from assay.archive.captured_attempts import WireFiles
from assay.archive.derived_schemas import BY_ATTEMPT

_files = WireFiles()  # of a worker: it reads one bundle, and ends


@dataclass(frozen=True, slots=True, kw_only=True)
class _Packed:
    """What came of one batch on its way to another process: a table is one message, not a hundred columns."""

    tables: dict[str, bytes]
    gathered: Gathered
    observed: list[ObservedAttempt]
    workload: WorkloadReader

    def unpacked(self) -> BatchRead:
        return BatchRead(
            tables={
                name: pa.ipc.read_record_batch(pa.py_buffer(message), BY_ATTEMPT[name][0])
                for name, message in self.tables.items()
            },
            gathered=self.gathered,
            observed=self.observed,
            workload=self.workload,
        )


@contextmanager
def in_workers(count: int) -> Iterator[Map]:
    """A ``map`` over orders that keeps their order."""
    with ProcessPoolExecutor(count, mp_context=get_context("fork")) as pool:
        pool.submit(int).result()  # fork now
        yield lambda orders: _in_order(pool, orders, ahead=2 * count)


def _in_order(
    pool: ProcessPoolExecutor, orders: Iterable[Order], *, ahead: int
) -> Iterator[BatchRead]:
    """Results in the order asked, with at most ``ahead`` batches on the way; then the workers go."""
    waiting: deque[Future[_Packed]] = deque()
    for order in orders:
        waiting.append(pool.submit(_read, order))
        if len(waiting) >= ahead:
            yield waiting.popleft().result().unpacked()
    while waiting:
        yield waiting.popleft().result().unpacked()
    pool.shutdown()


def _read(order: Order) -> _Packed:
    read = read_batch(order, _files)
    return _Packed(
        tables={name: batch.serialize().to_pybytes() for name, batch in read.tables.items()},
        gathered=read.gathered,
        observed=read.observed,
        workload=read.workload,
    )
