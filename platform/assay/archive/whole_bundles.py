"""Readings of bundles that are held whole: a stream recorded elsewhere, another load client's result."""

from contextlib import ExitStack
from pathlib import Path

from assay.analysis.documents import RunReading
from assay.analysis.interpretation import WholeReading
from assay.analysis.iterations import IterationLog
from assay.analysis.recorded import RecordedStream, read_recorded
from assay.archive import bundle_inputs
from assay.archive.derived_rows import batches_of
from assay.archive.derived_schemas import EVENTS, ITERATIONS
from assay.archive.derived_tables import AttemptTables, events_through, write_iterations
from assay.archive.foreign.reading import read_foreign
from assay.archive.readers import Bundle
from runners.protocol import layout


def read_recorded_bundle(source: Bundle, scratch: Path) -> RunReading:
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
        seed=source.seed,
    )
    return _written(whole, stream.iterations, scratch)


def read_foreign_bundle(source: Bundle, scratch: Path) -> RunReading:
    """A bundle around another load client's result: calls as that tool reported them, no wire, no events."""
    whole = read_foreign(source, seed=source.seed)
    for _ in events_through(scratch / EVENTS, ()):
        pass  # an empty table, so that every reading has the same files
    return _written(whole, IterationLog({}), scratch)


def _written(whole: WholeReading, iterations: IterationLog, scratch: Path) -> RunReading:
    with AttemptTables(scratch) as tables:
        tables.write(batches_of(whole.parts))
        tables.finish(whole.tasks)
    write_iterations(scratch / ITERATIONS, iterations)
    return whole.run
