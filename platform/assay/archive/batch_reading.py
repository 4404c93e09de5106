"""Read one batch of attempts: finished rows of the tables, and what the run's aggregates need.

It takes the server's records of its attempts along, and may be read in a process of its own. Nothing of an
attempt's text comes back.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from assay.analysis.attempt_parts import AttemptParts, RunFacts, attempt_parts
from assay.analysis.observed import ObservedAttempt
from assay.analysis.observing import PrefillSeen, observed_attempt
from assay.analysis.run_reading import Gathered
from assay.analysis.server_record import ServerRecord
from assay.analysis.structures.reading import WorkloadReader
from assay.archive.attempt_batches import Batch
from assay.archive.captured_attempts import Capture, WireFiles, captured_attempts
from assay.archive.derived_rows import batches_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One batch to be read. ``records`` and ``prefill`` are by attempt id.

    ``prefill`` holds the attempts of which a prefill was seen; None where no prediction asks for any of it.
    """

    batch: Batch
    capture: Capture
    facts: RunFacts
    records: Mapping[str, ServerRecord]
    prefill: Mapping[str, PrefillSeen] | None
    workload: WorkloadReader


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRead:
    """What came of one batch."""

    tables: dict[str, pa.RecordBatch]
    gathered: Gathered
    observed: list[ObservedAttempt]
    workload: WorkloadReader


Map = Callable[[Iterable[Order]], Iterator[BatchRead]]


def read_batch(order: Order, files: WireFiles) -> BatchRead:
    """Read the attempts of one batch and everything that is said of each."""
    gathered = Gathered()
    parts: list[AttemptParts] = []
    observed: list[ObservedAttempt] = []
    for attempt in captured_attempts(order.batch, order.capture, files):
        name = attempt.attempt_id
        record = order.records.get(name)
        read = attempt_parts(attempt, record, (), order.facts)
        order.workload.take(attempt)
        gathered.take(attempt, record, read)
        if order.prefill is not None:
            prefill = order.prefill.get(name, PrefillSeen())
            observed.append(observed_attempt(attempt, record, prefill))
        parts.append(read)
    return BatchRead(
        tables=batches_of(parts), gathered=gathered, observed=observed, workload=order.workload
    )
