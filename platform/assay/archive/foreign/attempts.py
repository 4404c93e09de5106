"""Attempts and columns out of a stored result: instants as the tool reported them, and no byte of a wire."""

from collections.abc import Iterable, Sequence
from typing import Any

from assay.analysis.absence import Absent
from assay.analysis.aggregates import Scope
from assay.analysis.compat.column_aggregates import entry_of
from assay.analysis.compat.figures import Figure
from assay.analysis.compat.rows import in_columns
from assay.analysis.compat.table import COLUMNS
from assay.analysis.documents import Aggregate
from assay.analysis.wire.attempt import Attempt, AttemptIds
from assay.analysis.wire.stream import ReplyReader
from assay.archive.foreign.result import ForeignCall, ForeignResult
from runners.protocol.events import ClientState, ResourceLimit

CLOCK_DOMAIN = "foreign_client"
_REPORTED = "as the tool reported, not computed again"


class ReportedReply(ReplyReader):
    """A reply of which another tool kept instants and counts. Nothing was read from a wire."""

    __slots__ = ("_last_ns", "_prompt", "_usage_said")

    def __init__(self, call: ForeignCall, result: ForeignResult) -> None:
        super().__init__()
        self._usage_said = call.usage_tokens
        self._prompt = call.row.prompt_tokens if call.usage_tokens is not None else None
        self._last_ns: int | None = None
        if not result.has_starts or not result.instants_are_content:
            return
        row = call.row
        self.first_content_ns, self._last_ns = row.first_ns, row.last_ns
        if row.counted_events is None:  # every instant, not only the first and the last
            for t_ns in row.times_ns.tolist():
                self.chunk_times_ns.append(t_ns)
                self.chunk_tokens.append(None)

    @property
    def last_content_ns(self) -> int | None:
        return self._last_ns

    @property
    def usage_tokens(self) -> int | None:
        return self._usage_said

    @property
    def prompt_tokens(self) -> int | None:
        return self._prompt


def attempts_of(result: ForeignResult) -> Iterable[Attempt]:
    """One attempt a call, in the tool's order, with the state that the tool says."""
    for number, call in enumerate(result.calls, start=1):
        yield _attempt(call, result, evidence=f"recorded/calls.jsonl:{number}")


def _attempt(call: ForeignCall, result: ForeignResult, *, evidence: str) -> Attempt:
    attempt = Attempt(
        ids=AttemptIds(attempt_id=call.call_id, session_id=call.session_id),
        clock_domain=CLOCK_DOMAIN,
        reply=ReportedReply(call, result),
        state=ClientState(call.state),
        failure=call.failure,
        status=call.status,
    )
    attempt.evidence["row"] = evidence
    if not result.has_starts:
        return attempt
    attempt.sent_ns = call.row.start_ns
    attempt.decided_ns = call.row.stop_ns if call.body_end_ns is None else call.body_end_ns
    if attempt.state is ClientState.completed:
        attempt.body_end_ns = call.body_end_ns
    elif attempt.state in (ClientState.cancelled, ClientState.timeout):
        attempt.gave_up_ns = attempt.decided_ns
    return attempt


def columns_of(result: ForeignResult) -> list[Aggregate]:
    """The tool's own column: computed from its requests where they suffice, else as it reported."""
    reported = {(f.quantity, f.statistic): f for f in result.reported}
    found = [_known_or_reported(f, result, reported) for f in _computed(result)]
    computed = {(f.quantity, f.statistic) for f, _ in found}
    found += [(f, _REPORTED) for key, f in reported.items() if key not in computed]
    return [
        entry_of(result.tool, figure, of=len(result.calls) or figure.n, scope=_scope(words))
        for figure, words in found
    ]


def _computed(result: ForeignResult) -> Sequence[Figure]:
    column = COLUMNS.get(result.tool)
    if column is None or not result.calls:
        return ()
    return column.figures(in_columns([call.row for call in result.calls]), result.span)


def _known_or_reported(
    figure: Figure, result: ForeignResult, reported: dict[tuple[str, str], Figure]
) -> tuple[Figure, str]:
    why = result.unknown.get(figure.quantity)
    if why is None and not isinstance(figure.value, Absent):
        return figure, "computed from its record of each request"
    told = reported.get((figure.quantity, figure.statistic))
    if told is not None:
        return told, f"{_REPORTED}: {why}" if why else _REPORTED
    value: Any = figure.value if why is None else Absent(why)
    lacking = Figure(
        quantity=figure.quantity,
        statistic=figure.statistic,
        value=value,
        n=0,
        percentile_rule=figure.percentile_rule,
    )
    return lacking, "not in the result"


def _scope(words: str) -> Scope:
    return Scope(
        population=words,
        denominator="requests",
        perspective="client",
        clock_domain=CLOCK_DOMAIN,
        limited_by=ResourceLimit.E1.value,
    )
