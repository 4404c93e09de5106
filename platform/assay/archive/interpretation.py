"""Read a sealed bundle and write its interpretation under ``derived/<digest>/<definition version>/``.

The same bundle and definition give the same bytes. A derived folder is never changed: a second reading is
compared with the first and must be equal to it. Runs as a process of its own, without Django:
``python -m assay.archive.interpretation BUNDLE DERIVED_ROOT``.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from assay.analysis.definition import DEFINITION_VERSION
from assay.analysis.disturbance import host_disturbed
from assay.analysis.documents import InterpretationDocument
from assay.analysis.errors import AnalysisError
from assay.analysis.gaps import gap
from assay.analysis.interpretation import Inputs
from assay.analysis.interpretation import interpret as read_run
from assay.analysis.iterations import IterationLog
from assay.analysis.ledgers.at import final_rows
from assay.analysis.observing import MemoryLog, observed_quantities
from assay.analysis.recorded import RecordedStream, interpret_recorded
from assay.analysis.residuals import residual_rows
from assay.analysis.server_record import ServerRecords
from assay.archive import bundle_inputs, derived_tables
from assay.archive.errors import ArchiveError
from assay.archive.readers import Bundle
from assay.archive.telemetry import cpu_counters
from runners.protocol import layout, manifest
from runners.protocol.documents import Gap
from runners.protocol.events import Phase

INTERPRETATION = "interpretation.json"


class UnlikeFirstReading(ArchiveError):
    """The same definition version read the same bundle differently: the definition changed under its name."""


def interpret(bundle: Path, derived_root: Path) -> Path:
    """The path of ``interpretation.json`` for this bundle and definition version, written if it is new."""
    source = Bundle(bundle)
    target = derived_root / source.digest / DEFINITION_VERSION
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".reading-", dir=target.parent))
    try:
        recorded = (bundle / layout.RECORDED_WIRE).is_file()
        document = _read_recorded(source, scratch) if recorded else _read_run(source, scratch)
        (scratch / INTERPRETATION).write_bytes(manifest.canonical(document))
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
    first, again = target / INTERPRETATION, scratch / INTERPRETATION
    if first.read_bytes() != again.read_bytes():
        raise UnlikeFirstReading(
            f"{first}: this reading differs from it (allowed: the same bytes). "
            "Give the changed definition a version of its own"
        )


def _read_run(source: Bundle, scratch: Path) -> InterpretationDocument:
    """A bundle that a run of ours left: tables, the engine's events, predictions."""
    session = source.session()
    everything = source.attempts()
    measured = [a for a in everything if a.phase == Phase.measure]
    records = ServerRecords(a.attempt_id for a in everything)
    iterations = IterationLog({a.attempt_id: a.segment for a in measured})
    memory = MemoryLog()
    events = derived_tables.events_through(scratch / derived_tables.EVENTS, source.events())
    for event in events:
        records.take(event)
        iterations.take(event, records)
        memory.take(event)
    records.settle()
    levels = bundle_inputs.levels(source)
    predictions, prediction_gaps = bundle_inputs.registered_predictions(source, session)
    observed = observed_quantities(
        measured,
        records,
        iterations,
        memory,
        weight_file_bytes=bundle_inputs.weight_file_bytes(source),
        clock_domain=source.client_domain,
        level=levels.server,
    )
    offered, offered_load = source.offered()
    own = ServerRecords.of_attempts(records, (a.attempt_id for a in measured))
    document = read_run(
        Inputs(
            attempts=measured,
            records=own,
            iterations=iterations,
            contract=bundle_inputs.contract(source),
            slo=bundle_inputs.service_levels(source),
            offered=offered,
            offered_load=offered_load,
            levels=levels,
            process_release=bundle_inputs.process_release(source, session),
            block_bytes=memory.block_bytes,
            identity=bundle_inputs.identity_items(source),
            given_gaps=[
                *bundle_inputs.recorded_gaps(source, session),
                *prediction_gaps,
                *_torn(source),
            ],
            load=bundle_inputs.load_shape(source),
            seed=_seed(source),
            bundle_digest=source.digest,
            residuals=residual_rows(
                predictions,
                observed,
                client_limited=bundle_inputs.client_limited(source, measured),
                host_disturbed=host_disturbed(cpu_counters(source), observed),
            ),
            unreadable_lines=len(source.events_reader.unreadable),
            origins_ns=source.events_reader.origins_ns,
        )
    )
    _write_tables(document, scratch, iterations)
    return document


def _read_recorded(source: Bundle, scratch: Path) -> InterpretationDocument:
    """A bundle around a stream that was recorded elsewhere, in the interchange form."""
    folder = source.folder
    events_path = folder / layout.RECORDED_EVENTS
    with (folder / layout.RECORDED_WIRE).open("rb") as wire:
        events = events_path.open("rb") if events_path.is_file() else None
        try:
            stream = RecordedStream(
                wire,
                events or (),
                wire_file=layout.RECORDED_WIRE,
                events_file=layout.RECORDED_EVENTS,
                pass_through=lambda found: derived_tables.events_through(
                    scratch / derived_tables.EVENTS, found
                ),
            )
        finally:
            if events is not None:
                events.close()
    session = source.session()
    document = interpret_recorded(
        stream,
        slo=bundle_inputs.service_levels(source),
        levels=bundle_inputs.levels(source),
        contract=bundle_inputs.contract(source),
        gaps=bundle_inputs.recorded_gaps(source, session),
        identity=bundle_inputs.identity_items(source),
        bundle_digest=source.digest,
        seed=_seed(source),
    )
    _write_tables(document, scratch, stream.iterations)
    return document


def _write_tables(
    document: InterpretationDocument, scratch: Path, iterations: IterationLog
) -> None:
    readings = document["attempts"]
    server = final_rows(document["ledgers"]["server"])
    derived_tables.write_attempts(
        scratch / derived_tables.ATTEMPTS,
        readings,
        server_states={name: row["state"] for name, row in server.items()},
    )
    derived_tables.write_timeline(scratch / derived_tables.TIMELINE, document["lanes"], readings)
    derived_tables.write_iterations(scratch / derived_tables.ITERATIONS, iterations)


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
