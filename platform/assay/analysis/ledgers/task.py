"""The task ledger: outcomes of business tasks, judged by the contract over all their requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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
from runners.protocol.events import TaskOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTask:
    """The plan's requests of a task and how each counts, those never created among them.

    ``stands_for``: a request of no plan, which asked for an answer again, to the planned one.
    """

    kinds: Mapping[str, BranchKind]
    stands_for: Mapping[str, str] = field(default_factory=dict)


def branches_of(
    attempts: Sequence[Attempt], *, start_ns: int, planned: PlannedTask | None = None
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


def _tried(attempts: Sequence[Attempt], *, start_ns: int) -> list[Branch]:
    requests: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        requests.setdefault(attempt.ids.request_id or attempt.attempt_id, []).append(attempt)
    return [
        Branch(
            branch_id=request,
            tries=tuple(
                BranchTry(
                    state=a.state,
                    ended_s=None if a.decided_ns is None else (a.decided_ns - start_ns) / NS_PER_S,
                )
                for a in sorted(tries, key=lambda a: (a.start_ns is None, a.start_ns))
            ),
        )
        for request, tries in requests.items()
    ]


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
    domains = {a.clock_domain for a in attempts}
    starts = [start for a in attempts if (start := a.start_ns) is not None]
    one_clock = len(domains) == 1 and bool(starts)
    start_ns = min(starts) if one_clock else 0
    verdict = task_outcome(contract, branches_of(attempts, start_ns=start_ns, planned=planned))
    ids: dict[str, str | None] = {
        "task_id": task_id,
        "session_id": _common([a.ids.session_id for a in attempts]),
        "request_id": _common([a.ids.request_id for a in attempts]),
        "model_call_id": None,
        "attempt_id": None,
    }
    return rows_of(
        _spans(verdict, attempts, start_ns=start_ns if one_clock else None),
        subject=task_id,
        subject_type="task",
        ids=ids,
        clock_domain=min(domains) if len(domains) == 1 else "several",
        error_ns=max((a.clock_error_ns for a in attempts), default=0),
        level=level,
    )


def _spans(verdict: Verdict, attempts: Sequence[Attempt], *, start_ns: int | None) -> list[Span]:
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
