"""Read a sealed bundle and write its interpretation below ``derived/<digest>/<definition version>/``.

The same bundle and definition give the same bytes. A derived folder is never changed: a second reading is
compared with the first and must be equal to it. Runs as a process of its own, without Django:
``python -m assay.archive.interpretation BUNDLE DERIVED_ROOT``.
"""

import filecmp
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.analysis.attempt_parts import RunFacts
from assay.analysis.definition import DEFINITION_VERSION
from assay.analysis.documents import RunReading
from assay.analysis.errors import AnalysisError
from assay.analysis.gaps import gap
from assay.analysis.interpretation import WholeReading
from assay.analysis.iterations import IterationLog
from assay.analysis.observed import ObservedAttempt
from assay.analysis.observing import MemoryLog, observed_quantities, prefill_seen
from assay.analysis.recorded import RecordedStream, read_recorded
from assay.analysis.residual.state_columns import state_columns
from assay.analysis.residuals import residual_rows
from assay.analysis.resources.host_costs import RequestCosts
from assay.analysis.run_reading import Gathered, RunInputs, run_reading, task_ledger
from assay.analysis.server_record import ServerRecords
from assay.analysis.structures.reading import WorkloadReader
from assay.archive import bundle_inputs
from assay.archive.attempt_batches import batches
from assay.archive.batch_reading import Map, Order, reading_map
from assay.archive.captured_attempts import Capture
from assay.archive.dependencies import dependency_accounts
from assay.archive.derived_rows import batches_of
from assay.archive.derived_schemas import EVENTS, ITERATIONS, TASKS
from assay.archive.derived_tables import (
    AttemptTables,
    events_through,
    write_iterations,
    write_tasks,
)
from assay.archive.errors import ArchiveError
from assay.archive.foreign.reading import read_foreign
from assay.archive.readers import Bundle
from assay.archive.resource_reading import Allocations, resource_reading
from assay.archive.tokenizer import tokenizer_of
from assay.archive.workload import workload_of
from runners.protocol import layout, manifest
from runners.protocol.documents import Gap

INTERPRETATION = "interpretation.json"


class UnlikeFirstReading(ArchiveError):
    """The same definition version read the same bundle differently: the definition changed under its name."""


def interpret(bundle: Path, derived_root: Path, *, processors: int | None = None) -> Path:
    """The path of ``interpretation.json`` for this bundle and definition version, written if it is new.

    ``processors`` bounds the worker processes; it changes no byte of what is written.
    """
    source = Bundle(bundle)
    target = derived_root / source.digest / DEFINITION_VERSION
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".reading-", dir=target.parent))
    try:
        if (bundle / layout.RECORDED_WIRE).is_file():
            reading = _read_recorded(source, scratch)
        elif (bundle / layout.FOREIGN_TOOL).is_file():
            reading = _read_foreign(source, scratch)
        else:
            size = sum(path.stat().st_size for path in source.wire_files())
            with reading_map(size, processors=processors) as read:
                reading = _read_run(source, scratch, read)
        (scratch / INTERPRETATION).write_bytes(manifest.canonical(reading))
        _put(scratch, target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return target / INTERPRETATION


def _put(scratch: Path, target: Path) -> None:
    if not target.exists():
        scratch.chmod(0o755)
        try:
            os.rename(scratch, target)  # noqa: PTH104 - must fail, not replace, when somebody was first
        except OSError:
            if not target.exists():
                raise
        else:
            return
    differs = [p.name for p in sorted(scratch.iterdir()) if not _same(p, target / p.name)]
    if differs:
        raise UnlikeFirstReading(
            f"{target}: this reading differs from it in {', '.join(differs)} (allowed: the same bytes). "
            "Give the changed definition a version of its own"
        )


def _same(one: Path, other: Path) -> bool:
    return other.is_file() and filecmp.cmp(one, other, shallow=False)


def _read_run(source: Bundle, scratch: Path, read: Map) -> RunReading:
    """A bundle that a run of ours left: tables, the engine's events, predictions."""
    session = source.session()
    rows = source.measured()
    engine = _read_events(source, scratch, rows)
    resources = resource_reading(
        source,
        session,
        allocations=engine.allocations,
        requests=engine.requests,
        steps=engine.iterations.steps,
    )
    server = engine.records.summary()
    levels = bundle_inputs.levels(source)
    facts = RunFacts(
        levels=levels,
        process_release=bundle_inputs.process_release(source, session),
        block_bytes=engine.memory.block_bytes,
    )
    gathered, workload = Gathered(), WorkloadReader(workload_of(source))
    attempts: list[ObservedAttempt] = []
    contract = bundle_inputs.contract(source)
    with AttemptTables(scratch) as tables:
        for found in read(_orders(source, rows, engine, facts, workload)):
            tables.write(found.tables)
            gathered.extend(found.gathered)
            workload.extend(found.workload)
            attempts += found.observed
        tasks = task_ledger(
            gathered.attempts, contract, level=levels.client, planned=workload.planned_tasks()
        )
        tables.finish(tasks)
    predictions, prediction_gaps = bundle_inputs.registered_predictions(source, session)
    observed = observed_quantities(
        attempts,
        engine.iterations,
        engine.memory,
        weight_file_bytes=bundle_inputs.weight_file_bytes(source),
        clock_domain=source.client_domain,
        level=levels.server,
    )
    offered, offered_load = source.offered()
    run, readings = run_reading(
        RunInputs(
            iterations=engine.iterations,
            contract=contract,
            slo=bundle_inputs.service_levels(source),
            offered=offered,
            offered_load=offered_load,
            levels=levels,
            identity=bundle_inputs.identity_items(source),
            given_gaps=[
                *bundle_inputs.recorded_gaps(source, session),
                *prediction_gaps,
                *_torn(source),
            ],
            load=bundle_inputs.load_shape(source, session),
            seed=_seed(source),
            bundle_digest=source.digest,
            residuals=residual_rows(
                predictions,
                observed,
                client_limited=bundle_inputs.client_limited(source, gathered.attempts),
                host_disturbed=bundle_inputs.host_disturbed(source),
            ),
            state_columns=state_columns(predictions, observed),
            dependencies=dependency_accounts(source, gathered.attempts),
            unreadable_lines=len(source.events_reader.unreadable),
            origins_ns=source.events_reader.origins_ns,
            context_location=bundle_inputs.context_location(source),
            client_error=bundle_inputs.client_error(source),
            resources=resources,
        ),
        gathered,
        server,
        tasks,
        workload,
    )
    write_tasks(scratch / TASKS, readings)
    return run


@dataclass(frozen=True, slots=True, kw_only=True)
class _Engine:
    """What the engine's own events say, of attempts, of its iterations and of its memory."""

    records: ServerRecords
    iterations: IterationLog
    memory: MemoryLog
    allocations: Allocations
    requests: RequestCosts = field(default_factory=RequestCosts)


def _read_events(source: Bundle, scratch: Path, rows: Sequence[Mapping[str, Any]]) -> _Engine:
    """Read the events once, writing their table as they pass; records of measured attempts stay."""
    segments = {row["attempt_id"]: row["segment"] for row in rows}
    engine = _Engine(
        records=ServerRecords(source.attempt_ids()),
        iterations=IterationLog(segments),
        memory=MemoryLog(),
        allocations=Allocations(clock_domain=source.client_domain),
    )
    for event in events_through(scratch / EVENTS, source.events()):
        engine.records.take(event)
        engine.iterations.take(event, engine.records)
        engine.memory.take(event)
        engine.allocations.take(event)
    engine.records.settle()
    engine.records.keep_only(segments)
    for name in segments:
        engine.requests.take(engine.records.get(name))
    write_iterations(scratch / ITERATIONS, engine.iterations)
    return engine


def _orders(
    source: Bundle,
    rows: Sequence[dict[str, Any]],
    engine: _Engine,
    facts: RunFacts,
    workload: WorkloadReader,
) -> Iterator[Order]:
    capture = Capture(
        clock_domain=source.client_domain,
        origin_ns=source.origin_ns,
        wire_withheld=source.wire_withheld,
        declared=source.declared,
        tokenizer=tokenizer_of(source),
    )
    for batch in batches(rows, source.wire_files()):
        names = batch.attempt_ids
        requests = [row["request_id"] for row in batch.rows]
        yield Order(
            batch=batch,
            capture=replace(capture, declared=capture.declared.only(requests)),
            facts=facts,
            records=engine.records.give(names),
            prefill={name: prefill_seen(name, engine.iterations) for name in names},
            workload=workload.of_requests(requests),
        )


def _read_recorded(source: Bundle, scratch: Path) -> RunReading:
    """A bundle around a stream that was recorded elsewhere, in the interchange form."""
    folder = source.folder
    events_path = folder / layout.RECORDED_EVENTS
    with (folder / layout.RECORDED_WIRE).open("rb") as wire, ExitStack() as files:
        stream = RecordedStream(
            wire,
            files.enter_context(events_path.open("rb")) if events_path.is_file() else (),
            wire_file=layout.RECORDED_WIRE,
            events_file=layout.RECORDED_EVENTS,
            pass_through=lambda found: events_through(scratch / EVENTS, found),
        )
    session = source.session()
    whole = read_recorded(
        stream,
        slo=bundle_inputs.service_levels(source),
        levels=bundle_inputs.levels(source),
        contract=bundle_inputs.contract(source),
        gaps=bundle_inputs.recorded_gaps(source, session),
        identity=bundle_inputs.identity_items(source),
        bundle_digest=source.digest,
        seed=_seed(source),
    )
    return _written(whole, stream.iterations, scratch)


def _read_foreign(source: Bundle, scratch: Path) -> RunReading:
    """A bundle around another load client's result: calls as that tool reported them, no wire, no events."""
    whole = read_foreign(source, seed=_seed(source))
    for _ in events_through(scratch / EVENTS, ()):
        pass  # an empty table, so that every reading has the same files
    return _written(whole, IterationLog({}), scratch)


def _written(whole: WholeReading, iterations: IterationLog, scratch: Path) -> RunReading:
    """Write the tables of a reading that was held whole."""
    with AttemptTables(scratch) as tables:
        tables.write(batches_of(whole.parts))
        tables.finish(whole.tasks)
    write_iterations(scratch / ITERATIONS, iterations)
    return whole.run


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


def _seed(source: Bundle) -> int:
    """Random parts of a reading are seeded from the bundle digest."""
    return int(source.digest[:16], 16)


def main(arguments: Sequence[str]) -> int:
    """``BUNDLE DERIVED_ROOT``: interpret and print the path of the document."""
    if len(arguments) != 2:
        sys.stderr.write("usage: python -m assay.archive.interpretation BUNDLE DERIVED_ROOT\n")
        return 2
    bundle, derived_root = (Path(a).resolve() for a in arguments)
    if not (bundle / layout.MANIFEST_DIGEST).is_file():
        sys.stderr.write(
            f"error: bundle: {bundle} holds no {layout.MANIFEST_DIGEST} (allowed: a sealed bundle). "
            "Name the folder of a bundle\n"
        )
        return 2
    try:
        path = interpret(bundle, derived_root)
    except AnalysisError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    except ArchiveError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
