"""The whole reading of one recorded run as one document: attempts, ledgers, lanes, aggregates, checks, gaps.

A pure function of its inputs: the same inputs give the same document, byte for byte (random parts are
seeded). It holds every attempt; an archive reads the same parts batch by batch instead.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.analysis import lanes
from assay.analysis.attempt_parts import AttemptParts, RunFacts, attempt_parts
from assay.analysis.documents import InterpretationDocument, LedgerRow, Ledgers, RunReading
from assay.analysis.events import EventRecord
from assay.analysis.ledgers.resource import ProcessRelease
from assay.analysis.run_reading import Gathered, RunInputs, TaskEnds, run_reading, task_ledger
from assay.analysis.server_record import ServerRecords
from assay.analysis.structures.planned import WorkloadFacts
from assay.analysis.structures.reading import WorkloadReader
from assay.analysis.task_documents import TaskReading
from assay.analysis.wire.attempt import Attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs(RunInputs):
    """Everything a reading needs. ``attempts`` are those of the measured phase, in order of appearance."""

    attempts: Sequence[Attempt]
    records: ServerRecords
    client_events: Sequence[EventRecord] = ()
    workload: WorkloadFacts | None = None
    process_release: ProcessRelease | None = None
    block_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeReading:
    """A run read in memory: each attempt's parts, each task's rows, and the run's own document."""

    parts: list[AttemptParts]
    tasks: list[list[LedgerRow]]
    task_readings: list[TaskReading]
    run: RunReading


def interpret(inputs: Inputs) -> InterpretationDocument:
    """Read one run into one document. Attempts keep their order; every list is in a fixed order."""
    return assembled(read_whole(inputs))


def read_whole(inputs: Inputs) -> WholeReading:
    """Read every attempt, then the run."""
    facts = RunFacts(
        levels=inputs.levels,
        process_release=inputs.process_release,
        block_bytes=inputs.block_bytes,
    )
    marks = _client_marks(inputs.client_events)
    gathered, workload = Gathered(), WorkloadReader(inputs.workload)
    found: list[AttemptParts] = []
    for attempt in inputs.attempts:
        record = inputs.records.get(attempt.attempt_id)
        parts = attempt_parts(attempt, record, marks.get(attempt.attempt_id, ()), facts)
        workload.take(attempt)
        gathered.take(attempt, record, parts)
        found.append(parts)
    ends = TaskEnds(are_read=inputs.workload is not None)
    ledger = task_ledger(
        inputs.attempts,
        inputs.contract,
        level=inputs.levels.client,
        planned=workload.planned_tasks(),
    )
    tasks = list(ends.noted(ledger))
    run, readings = run_reading(inputs, gathered, inputs.records.summary(), ends, workload)
    return WholeReading(parts=found, tasks=tasks, task_readings=readings, run=run)


def assembled(whole: WholeReading) -> InterpretationDocument:
    """One document of all parts."""
    parts = whole.parts
    return InterpretationDocument(
        **whole.run,
        attempts=[p.reading for p in parts],
        tasks=whole.task_readings,
        ledgers=Ledgers(
            client=[row for p in parts for row in p.client],
            server=[row for p in parts for row in p.server],
            task=[row for rows in whole.tasks for row in rows],
            resource=[row for p in parts for row in p.resource],
        ),
        lanes=[lane for p in parts for lane in p.lanes],
        ghost_load=[p.ghost for p in parts if p.ghost is not None],
        cancel_checks=[check for p in parts for check in p.checks],
    )


def _client_marks(events: Iterable[EventRecord]) -> dict[str, list[lanes.Mark]]:
    """The client's own event records by attempt; of several clock domains only the first is a lane."""
    found: dict[str, list[lanes.Mark]] = {}
    for event in events:
        if event.attempt_id is None:
            continue
        marks = found.setdefault(event.attempt_id, [])
        if not marks or marks[0].clock_domain == event.clock_domain:
            marks.append(
                lanes.Mark(
                    event=event.event,
                    t_ns=event.t_ns,
                    clock_domain=event.clock_domain,
                    perspective=event.perspective,
                    evidence=event.evidence,
                )
            )
    return found
