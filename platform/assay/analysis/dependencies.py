"""External dependencies, each accounted on its own: calls, wall clock, failures, how many at once.

Time that somebody waits for a dependency is a dependency cost and never part of a model's generation. What
was called without being declared is an account too, under the name it was called by: there is no remainder.
A mocked dependency has a distribution as well; it is that of the stand-in, and the account says so.
Source: sections 1.1.3 and 1.4.2.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypedDict

from assay.analysis.errors import BadRecord
from assay.analysis.events import EventRecord
from assay.analysis.percentiles import PERCENTILE_RULE, percentile
from assay.analysis.quantities import NS_PER_S

STARTED, ENDED = "dependency_started", "dependency_ended"
_QUANTILES = {"p50_s": 0.5, "p90_s": 0.9, "p99_s": 0.99}


class CallOutcome(StrEnum):
    completed = "completed"
    failed = "failed"
    timeout = "timeout"
    unfinished = "unfinished"


@dataclass(frozen=True, slots=True, kw_only=True)
class DependencyCall:
    """One call, in one clock domain. ``to_ns`` None: its end was not seen."""

    dependency: str
    from_ns: int
    to_ns: int | None
    outcome: CallOutcome
    clock_domain: str


class WallClock(TypedDict):
    """Over calls whose end was seen, failed ones too; null without any."""

    n: int
    total_s: float | None
    mean_s: float | None
    p50_s: float | None
    p90_s: float | None
    p99_s: float | None
    max_s: float | None
    percentile_rule: str


class DependencyAccount(TypedDict):
    dependency: str
    declared: bool
    mocked: bool | None  # null: it was not declared
    calls: int
    failures: int
    timeouts: int
    unfinished: int
    most_at_once: int | None  # null: calls of several clock domains
    wall_clock: WallClock
    mark: str | None  # what keeps these figures from speaking of the real dependency


def account(
    calls: Sequence[DependencyCall], declared: Iterable[Mapping[str, Any]]
) -> list[DependencyAccount]:
    """One account for each declared dependency, called or not, then one for each that was only called."""
    by_name: dict[str, list[DependencyCall]] = {str(row["name"]): [] for row in declared}
    rows = {str(row["name"]): row for row in declared}
    for call in calls:
        by_name.setdefault(call.dependency, []).append(call)
    return [_account(name, found, rows.get(name)) for name, found in by_name.items()]


def _account(
    name: str, calls: Sequence[DependencyCall], declared: Mapping[str, Any] | None
) -> DependencyAccount:
    outcomes = [call.outcome for call in calls]
    return DependencyAccount(
        dependency=name,
        declared=declared is not None,
        mocked=None if declared is None else bool(declared["mocked"]),
        calls=len(calls),
        failures=outcomes.count(CallOutcome.failed),
        timeouts=outcomes.count(CallOutcome.timeout),
        unfinished=outcomes.count(CallOutcome.unfinished),
        most_at_once=_most_at_once(calls),
        wall_clock=_wall_clock(calls),
        mark=_mark(declared),
    )


def _mark(declared: Mapping[str, Any] | None) -> str | None:
    if declared is None:
        return "called, and not among the declared dependencies of the boundary"
    if not declared["mocked"]:
        return None
    return "mocked: the variability of the real dependency was outside the experiment"


def _wall_clock(calls: Sequence[DependencyCall]) -> WallClock:
    walls = sorted((c.to_ns - c.from_ns) / NS_PER_S for c in calls if c.to_ns is not None)
    found = {name: percentile(walls, q) if walls else None for name, q in _QUANTILES.items()}
    return WallClock(
        n=len(walls),
        total_s=sum(walls) if walls else None,
        mean_s=sum(walls) / len(walls) if walls else None,
        p50_s=found["p50_s"],
        p90_s=found["p90_s"],
        p99_s=found["p99_s"],
        max_s=walls[-1] if walls else None,
        percentile_rule=PERCENTILE_RULE,
    )


def _most_at_once(calls: Sequence[DependencyCall]) -> int | None:
    """A call that ends as another begins is not beside it; one without an end stays open."""
    if len({call.clock_domain for call in calls}) > 1:
        return None
    steps = [(call.from_ns, 1) for call in calls]
    steps += [(call.to_ns, -1) for call in calls if call.to_ns is not None]
    open_now = most = 0
    for _, change in sorted(steps):
        open_now += change
        most = max(most, open_now)
    return most


class DependencyLog:
    """Calls out of events: ``dependency_started`` and ``dependency_ended``, paired by their ``call``.

    The value of both is an object with ``dependency`` and ``call``; the end also has its ``outcome``.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], EventRecord] = {}
        self._ended: list[DependencyCall] = []

    def take(self, event: EventRecord) -> None:
        name = event.event.rpartition(".")[2]
        if name == STARTED:
            self._open[_key(event)] = event
        elif name == ENDED:
            self._end(event)

    def calls(self) -> list[DependencyCall]:
        """All calls in order of their start; those that never ended are unfinished."""
        left = [
            DependencyCall(
                dependency=name,
                from_ns=start.t_ns,
                to_ns=None,
                outcome=CallOutcome.unfinished,
                clock_domain=start.clock_domain,
            )
            for (name, _), start in self._open.items()
        ]
        return sorted([*self._ended, *left], key=lambda call: call.from_ns)

    def _end(self, event: EventRecord) -> None:
        start = self._open.pop(_key(event), None)
        if start is None or start.clock_domain != event.clock_domain:
            raise BadRecord(
                field=f"{event.evidence} {ENDED}",
                seen=repr(event.value),
                allowed=f"the end of a call whose {STARTED} came before, on the same clock",
                remedy="Give both ends of a call the same dependency and call.",
            )
        self._ended.append(
            DependencyCall(
                dependency=_key(event)[0],
                from_ns=start.t_ns,
                to_ns=event.t_ns,
                outcome=_outcome(event),
                clock_domain=event.clock_domain,
            )
        )


def _key(event: EventRecord) -> tuple[str, str]:
    value = event.value if isinstance(event.value, Mapping) else {}
    name, call = value.get("dependency"), value.get("call")
    if not isinstance(name, str) or not name or not isinstance(call, str) or not call:
        raise BadRecord(
            field=f"{event.evidence} value",
            seen=repr(event.value),
            allowed="an object with dependency and call, both text",
            remedy="Name the dependency and the call.",
        )
    return name, call


def _outcome(event: EventRecord) -> CallOutcome:
    named = event.value.get("outcome", CallOutcome.completed.value)
    try:
        return CallOutcome(named)
    except ValueError:
        raise BadRecord(
            field=f"{event.evidence} outcome",
            seen=repr(named),
            allowed=", ".join(CallOutcome),
            remedy="Say how the call ended.",
        ) from None


def injected_calls(
    plan: Iterable[Mapping[str, Any]],
    inputs: Iterable[Mapping[str, Any]],
    created_ns: Mapping[str, int],
    *,
    clock_domain: str,
) -> list[DependencyCall]:
    """The waits that stood in for a dependency: rows of the plan with a ``dependency``.

    From the end of what the request waited for (``ready_ns`` of its sent input) to the creation of its first
    attempt: what was really waited, not what was declared. One that was never sent is unfinished.
    """
    names = {row["request_id"]: row["dependency"] for row in plan if row.get("dependency")}
    calls = []
    for row in inputs:
        request = row["request_id"]
        if request in names and row["ready_ns"] is not None:
            end = created_ns.get(request)
            done = CallOutcome.unfinished if end is None else CallOutcome.completed
            calls.append(
                DependencyCall(
                    dependency=names[request],
                    from_ns=row["ready_ns"],
                    to_ns=end,
                    outcome=done,
                    clock_domain=clock_domain,
                )
            )
    return calls
