"""The reading of a bundle that a run of ours left: tables, the engine's events, predictions.

Attempts are read batch by batch. What grows with the run lies in files: tables below ``scratch``,
columns on a shelf below ``aside``, which is no part of the reading.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.analysis.attempt_parts import RunFacts
from assay.analysis.counters.recorded_counts import RecordedCounts
from assay.analysis.documents import RunReading
from assay.analysis.gaps import gap
from assay.analysis.iterations import IterationLog
from assay.analysis.kept import KeptAttempts
from assay.analysis.levels import Levels
from assay.analysis.observed import ObservedAttempt, ObservedQuantities
from assay.analysis.observing import MemoryLog, PrefillSeen, observed_quantities, prefill_seen
from assay.analysis.residual.state_columns import state_columns
from assay.analysis.resources.host_costs import RequestCosts
from assay.analysis.run_reading import Gathered, RunInputs, TaskEnds, run_reading, task_ledger
from assay.analysis.server_record import ServerRecords
from assay.analysis.structures.reading import WorkloadReader
from assay.archive import bundle_inputs
from assay.archive.attempt_batches import batches
from assay.archive.batch_reading import Map, Order
from assay.archive.captured_attempts import Capture
from assay.archive.counter_reading import CounterSource
from assay.archive.dependencies import dependency_accounts
from assay.archive.derived_schemas import EVENTS, ITERATIONS, TASKS
from assay.archive.derived_tables import (
    AttemptTables,
    events_through,
    write_iterations,
    write_tasks,
)
from assay.archive.file_shelf import FileShelf
from assay.archive.measured import MeasuredAttempts
from assay.archive.metering import metering
from assay.archive.readers import Bundle, ClientClock, SessionRow
from assay.archive.resource_reading import Allocations, resource_reading, steady
from assay.archive.tokenizer import tokenizer_of
from assay.archive.workload import workload_of
from runners.protocol import layout
from runners.protocol.documents import Gap, PredictionsDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class _Engine:
    """What the engine's own events say, of attempts, of its iterations and of its memory."""

    records: ServerRecords
    iterations: IterationLog
    memory: MemoryLog
    allocations: Allocations
    counters: CounterSource
    recorded: RecordedCounts
    requests: RequestCosts = field(default_factory=RequestCosts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """What is known of a run before its attempts are read."""

    source: Bundle
    session: list[SessionRow]
    measured: MeasuredAttempts
    levels: Levels
    engine: _Engine
    predictions: PredictionsDocument | None
    prediction_gaps: list[Gap]


def read_run(source: Bundle, scratch: Path, aside: Path, read: Map) -> RunReading:
    """Write every table below ``scratch`` and return the document of the run."""
    session = source.session()
    ahead_ns = {w: c.origin_ns - source.origin_ns for w, c in source.load_worker_clocks.items()}
    measured = MeasuredAttempts(source.folder, aside=aside, ahead_ns=ahead_ns)
    predictions, prediction_gaps = bundle_inputs.registered_predictions(source, session)
    run = _Run(
        source=source,
        session=session,
        measured=measured,
        levels=bundle_inputs.levels(source),
        engine=_read_events(source, scratch, measured),
        predictions=predictions,
        prediction_gaps=prediction_gaps,
    )
    server = run.engine.records.summary()
    shelf = FileShelf(aside)
    facts = workload_of(source)
    gathered, workload = Gathered.on(shelf), WorkloadReader(facts)
    observed: list[ObservedAttempt] = []
    contract = bundle_inputs.contract(source)
    tasks = TaskEnds(are_read=facts is not None)
    with AttemptTables(scratch) as tables:
        for found in read(_orders(run, workload)):
            tables.write(found.tables)
            gathered.extend(found.gathered)
            workload.extend(found.workload)
            observed += found.observed
        ledger = task_ledger(
            gathered.attempts,
            contract,
            level=run.levels.client,
            planned=workload.planned_tasks(),
        )
        tables.finish(tasks.noted(ledger))
    inputs = replace(_inputs(run, gathered.attempts, observed), contract=contract)
    reading, task_readings = run_reading(inputs, gathered, server, tasks, workload, shelf)
    write_tasks(scratch / TASKS, task_readings)
    return reading


def _read_events(source: Bundle, scratch: Path, measured: MeasuredAttempts) -> _Engine:
    """Read the events once, writing their table as they pass; records of measured attempts stay."""
    segments = dict(measured.segments()) if source.has_events else {}
    counters = CounterSource(source)
    engine = _Engine(
        counters=counters,
        recorded=RecordedCounts(bounds=counters.bounds(), clock_domain=source.client_domain),
        records=ServerRecords(source.attempt_ids() if source.has_events else ()),
        iterations=IterationLog(segments),
        memory=MemoryLog(),
        allocations=Allocations(clock_domain=source.client_domain),
    )
    for event in events_through(scratch / EVENTS, source.events()):
        engine.records.take(event)
        engine.iterations.take(event, engine.records)
        engine.memory.take(event)
        engine.allocations.take(event)
        engine.recorded.take(event)
    engine.records.settle()
    engine.records.keep_only(segments)
    for name in segments:
        engine.requests.take(engine.records.get(name))
    write_iterations(scratch / ITERATIONS, engine.iterations)
    return engine


def _orders(run: _Run, workload: WorkloadReader) -> Iterator[Order]:
    source, engine = run.source, run.engine
    capture = Capture(
        clock=ClientClock(domain=source.client_domain, origin_ns=source.origin_ns),
        load_worker_clocks=source.load_worker_clocks,
        wire_withheld=source.wire_withheld,
        declared=source.declared,
        tokenizer=tokenizer_of(source),
    )
    facts = RunFacts(
        levels=run.levels,
        process_release=bundle_inputs.process_release(source, run.session),
        block_bytes=engine.memory.block_bytes,
    )
    for batch in batches(run.measured, source.wire_files()):
        names, requests = batch.attempt_ids, batch.request_ids
        asked = run.predictions is not None
        yield Order(
            batch=batch,
            capture=replace(capture, declared=capture.declared.only(requests)),
            facts=facts,
            records=engine.records.give(names),
            prefill=_prefill(names, engine.iterations) if asked else None,
            workload=workload.of_requests(requests),
        )


def _prefill(names: list[str], iterations: IterationLog) -> Mapping[str, PrefillSeen]:
    return {n: prefill_seen(n, iterations) for n in names if n in iterations.prefill_steps_of}


def _inputs(run: _Run, attempts: KeptAttempts, observed: list[ObservedAttempt]) -> RunInputs:
    """What the documents of the bundle say to the reading of the whole."""
    source, session, engine = run.source, run.session, run.engine
    offered, offered_load = source.offered()
    quantities = _quantities(run, observed)
    return RunInputs(
        iterations=engine.iterations,
        slo=bundle_inputs.service_levels(source),
        offered=offered,
        offered_load=offered_load,
        levels=run.levels,
        identity=bundle_inputs.identity_items(source),
        given_gaps=[
            *bundle_inputs.recorded_gaps(source, session),
            *run.prediction_gaps,
            *_torn(source),
        ],
        load=bundle_inputs.load_shape(source, session),
        seed=source.seed,
        bundle_digest=source.digest,
        residuals=_residuals(run, attempts, quantities),
        state_columns=state_columns(run.predictions, quantities),
        dependencies=dependency_accounts(source, attempts),
        unreadable_lines=len(source.events_reader.unreadable),
        origins_ns=source.events_reader.origins_ns
        | {clock.domain: clock.origin_ns for clock in source.load_worker_clocks.values()},
        context_location=bundle_inputs.context_location(source),
        client_error=bundle_inputs.client_error(source),
        resources=resource_reading(
            source,
            session,
            allocations=engine.allocations,
            requests=engine.requests,
            steps=engine.iterations.steps,
        ),
        metering=metering(source),
        counters=engine.counters.reading(engine.recorded, engine.iterations, steady(session)),
    )


def _residuals(
    run: _Run, attempts: KeptAttempts, quantities: ObservedQuantities
) -> list[dict[str, Any]]:
    if run.predictions is None:
        return []
    from assay.analysis.residuals import residual_rows  # with the forecast behind it

    return residual_rows(
        run.predictions,
        quantities,
        client_limited=bundle_inputs.client_limited(run.source, attempts),
        host_disturbed=bundle_inputs.host_disturbed(run.source),
    )


def _quantities(run: _Run, observed: list[ObservedAttempt]) -> ObservedQuantities:
    """What predictions are held against."""
    return observed_quantities(
        observed,
        run.engine.iterations,
        run.engine.memory,
        weight_file_bytes=bundle_inputs.weight_file_bytes(run.source),
        clock_domain=run.source.client_domain,
        level=run.levels.server,
    )


def _torn(source: Bundle) -> list[Gap]:
    lines = source.events_reader.unreadable
    if not lines:
        return []
    return [
        gap(
            f"{len(lines)} unreadable line(s) of {layout.ENGINE_EVENTS}, the first is {lines[0]}",
            affects="server ledger and iterations around these lines",
            needed="nothing closes it: the engine or its disk stopped in mid-line",
        )
    ]
