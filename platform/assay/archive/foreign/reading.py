"""The reading of an imported result: its calls as attempts, and the tool's own column beside our rules."""

from collections.abc import Iterable

from assay.analysis.documents import Aggregate
from assay.analysis.gaps import merged
from assay.analysis.interpretation import Inputs, WholeReading, read_whole
from assay.analysis.server_record import ServerRecords
from assay.archive import bundle_inputs
from assay.archive.foreign import stored
from assay.archive.foreign.attempts import attempts_of, columns_of
from assay.archive.foreign.result import ForeignResult
from assay.archive.readers import Bundle


def read_foreign(source: Bundle, *, seed: int) -> WholeReading:
    """Read a sealed bundle of another tool's result. Ledgers of the other sides stay empty or unknown."""
    result = stored.read(source.folder)
    whole = read_whole(
        Inputs(
            attempts=list(attempts_of(result)),
            records=ServerRecords(()),
            contract=bundle_inputs.contract(source),
            slo=bundle_inputs.service_levels(source),
            levels=bundle_inputs.levels(source),
            identity=bundle_inputs.identity_items(source),
            given_gaps=merged(bundle_inputs.recorded_gaps(source, source.session())),
            seed=seed,
            bundle_digest=source.digest,
        )
    )
    if not _every_instant(result):
        _withdraw_arrivals(whole.run["aggregates"])
    if result.calls and not result.has_starts:
        whole.run["reconciliation"]["differences"] = [
            "created and sent are not known: the tool kept no start times"
        ]
    whole.run["aggregates"] += columns_of(result)
    return whole


def _every_instant(result: ForeignResult) -> bool:
    """Whether the tool kept the instant of every event with content."""
    return (
        result.has_starts
        and result.instants_are_content
        and all(call.row.counted_events is None for call in result.calls)
    )


def _withdraw_arrivals(aggregates: Iterable[Aggregate]) -> None:
    """Tokens whose arrival nobody kept did not arrive 0 times a second."""
    for entry in aggregates:
        if entry["rule"] == "throughput.output_tokens":
            entry["value"], entry["n"] = None, 0
            entry["absent"] = "the tool kept no instant of every event with content"
