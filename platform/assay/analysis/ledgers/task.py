"""The task ledger: outcomes of business tasks, judged by the contract over all their requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from assay.analysis.documents import LedgerRow
from assay.analysis.ledgers.contract import (
    Branch,
    BranchKind,
    BranchTry,
    Contract,
    Verdict,
    task_outcome,
)
from assay.analysis.ledgers.rows import Span, rows_of
from assay.analysis.quantities import NS_PER_S
from assay.analysis.wire.attempt import Attempt
from runners.protocol.events import ClientState, TaskOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTask:
    """The plan's requests of a task and how each counts, those never created among them.

    ``stands_for``: a request of no plan, which asked for an answer again, to the planned one.
    """

    kinds: Mapping[str, BranchKind]
    stands_for: Mapping[str, str] = field(default_factory=dict)


class _Try(NamedTuple):
    """What the ledger needs of an attempt, read once: a kept one looks up each of its facts."""

    attempt_id: str
    request_id: str | None
    session_id: str | None
    clock_domain: str
    clock_error_ns: int
    state: ClientState
    start_ns: int | None
    decided_ns: int | None

    @classmethod
    def of(cls, attempt: Attempt) -> "_Try":
        ids = attempt.ids
        return cls(
            attempt.attempt_id,
            ids.request_id,
            ids.session_id,
            attempt.clock_domain,
            attempt.clock_error_ns,
            attempt.state,
            attempt.start_ns,
            attempt.decided_ns,
        )


def _branches(
    attempts: Sequence[_Try], *, start_ns: int, planned: PlannedTask | None
) -> list[Branch]:
    """The requests of a task, each with its tries in the order in which they were made.

    An answer that was asked for again is judged by the last one.
    """
    found = _tried(attempts, start_ns=start_ns)
    if planned is None:
        return found
    last = {planned.stands_for.get(b.branch_id, b.branch_id): b for b in found}
    return [
        (last.get(name) or Branch(branch_id=name, tries=()))._replace(branch_id=name, kind=kind)
        for name, kind in planned.kinds.items()
    ]


def _tried(attempts: Sequence[_Try], *, start_ns: int) -> list[Branch]:
    requests: dict[str, list[_Try]] = {}
    for attempt in attempts:
        requests.setdefault(attempt.request_id or attempt.attempt_id, []).append(attempt)
    return [
        Branch(request, tuple([_in_task(a, start_ns) for a in _in_order(tries)]))
        for request, tries in requests.items()
    ]


def _in_order(tries: list[_Try]) -> list[_Try]:
    if len(tries) > 1:
        tries.sort(key=lambda a: (a.start_ns is None, a.start_ns))
    return tries


def _in_task(attempt: _Try, start_ns: int) -> BranchTry:
    decided_ns = attempt.decided_ns
    ended_s = None if decided_ns is None else (decided_ns - start_ns) / NS_PER_S
    return BranchTry(attempt.state, ended_s)


def task_rows(
    task_id: str,
    attempts: Sequence[Attempt],
    contract: Contract,
    *,
    level: str,
    planned: PlannedTask | None = None,
) -> list[LedgerRow]:
    """``undetermined`` from the start of the task, then its outcome from the instant that decided it.

    All attempts of a task are stamped by the client; with several client clocks no time is stated.
    """
    own = [_Try.of(attempt) for attempt in attempts]
    domains = {a.clock_domain for a in own}
    starts = [a.start_ns for a in own if a.start_ns is not None]
    one_clock = len(domains) == 1 and bool(starts)
    start_ns = min(starts) if one_clock else 0
    verdict = task_outcome(contract, _branches(own, start_ns=start_ns, planned=planned))
    ids: dict[str, str | None] = {
        "task_id": task_id,
        "session_id": _common([a.session_id for a in own]),
        "request_id": _common([a.request_id for a in own]),
        "model_call_id": None,
        "attempt_id": None,
    }
    return rows_of(
        _spans(verdict, own, start_ns=start_ns if one_clock else None),
        subject=task_id,
        subject_type="task",
        ids=ids,
        clock_domain=min(domains) if len(domains) == 1 else "several",
        error_ns=max([a.clock_error_ns for a in own], default=0),
        level=level,
    )


def _spans(verdict: Verdict, attempts: Sequence[_Try], *, start_ns: int | None) -> list[Span]:
    open_span = Span(
        state=TaskOutcome.undetermined.value, from_ns=start_ns, detail="not yet decided"
    )
    if verdict.outcome is TaskOutcome.undetermined:
        return [Span(state=verdict.outcome.value, from_ns=start_ns, detail=verdict.why)]
    if start_ns is None:
        return [Span(state=verdict.outcome.value, from_ns=None, detail=verdict.why)]
    if verdict.decided_s is not None:
        decided = start_ns + round(verdict.decided_s * NS_PER_S)
    else:
        decided = max(a.decided_ns for a in attempts if a.decided_ns is not None)
    final = Span(state=verdict.outcome.value, from_ns=decided, detail=verdict.why)
    return [open_span, final] if decided > start_ns else [final]


def _common(values: Sequence[str | None]) -> str | None:
    distinct = set(values)
    return values[0] if len(distinct) == 1 else None
