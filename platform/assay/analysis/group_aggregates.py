"""Which attempts the aggregates of a run are over, in which window, and all of those aggregates.

The load segment where there is one (archive cases have shapes of their own and are shown one by one), else
all measured attempts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.analysis.absence import Absent
from assay.analysis.aggregates import Scope, of_attempts
from assay.analysis.documents import Aggregate
from assay.analysis.iterations import IterationLog
from assay.analysis.rates import ServiceLevels, goodput, outcome_shares, throughputs
from assay.analysis.server_record import ServerRecord
from assay.analysis.step_aggregates import step_aggregates
from assay.analysis.window import (
    Window,
    closed_loop_window,
    open_loop_window,
    whole_window,
)
from assay.analysis.wire.attempt import Attempt
from runners.protocol.events import Segment


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadShape:
    """What the declared load was: the concurrency of a closed loop, or an open loop, or neither known."""

    concurrency: int | None = None
    open_loop: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The attempts aggregated, how they are called, and of which limits each side's numbers are."""

    attempts: Sequence[Attempt]
    words: str
    is_load: bool
    client_level: str
    server_level: str
    seed: int

    @property
    def clock_domain(self) -> str:
        domains = {a.clock_domain for a in self.attempts}
        return min(domains) if len(domains) == 1 else "several"


def group_of(
    attempts: Sequence[Attempt], *, client_level: str, server_level: str, seed: int
) -> Group:
    load = [a for a in attempts if a.segment == Segment.load]
    return Group(
        attempts=load or list(attempts),
        words=f"segment {Segment.load.value}" if load else "",
        is_load=bool(load),
        client_level=client_level,
        server_level=server_level,
        seed=seed,
    )


def choose_window(
    attempts: Sequence[Attempt], shape: LoadShape, asked: Window | None
) -> Window | Absent:
    """The window asked for, else the steady part of the declared load, else first send to last end."""
    if asked is not None:
        return asked
    if shape.concurrency is not None:
        steady = closed_loop_window(attempts, shape.concurrency)
    elif shape.open_loop:
        steady = open_loop_window(attempts)
    else:
        return whole_window(attempts)
    return steady if isinstance(steady, Window) else whole_window(attempts)


def group_aggregates(
    group: Group,
    records: Mapping[str, ServerRecord],
    window: Window | Absent,
    *,
    asked: Window | None,
    slo: ServiceLevels,
    offered: int | None,
) -> list[Aggregate]:
    """Attempt rules, outcome shares, rates and goodput. ``offered`` counts the group's planned requests."""
    chosen, words = list(group.attempts), group.words
    if asked is not None:
        chosen = [a for a in chosen if asked.holds(a.sent_ns)]
        words = f"{words}, sent in the window".removeprefix(", ")
    scope = Scope(
        population=f"attempts, {words}" if words else "attempts",
        denominator="attempts",
        perspective="client",
        clock_domain=group.clock_domain,
        limited_by=group.client_level,
    )
    found = of_attempts(
        chosen,
        records,
        segment=words,
        levels={"client": group.client_level, "server": group.server_level},
        seed=group.seed,
    )
    found += outcome_shares(chosen, scope)
    found += throughputs(group.attempts, window, scope)
    if slo.asked:
        seen = len({a.ids.request_id or a.attempt_id for a in chosen})
        found += goodput(
            chosen,
            slo,
            offered=seen if offered is None or asked is not None else max(seen, offered),
            window=window if isinstance(window, Window) else None,
            scope=scope,
        )
    if isinstance(window, Window):
        for entry in found:
            if entry["denominator"].startswith("window") or entry["rule"] == "goodput.rate":
                entry["window_ns"] = [window.from_ns, window.to_ns]
    return found


def iteration_aggregates(log: IterationLog, group: Group, *, clock_domain: str) -> list[Aggregate]:
    """Step times and batch sizes of the group's segment."""
    segments = {a.segment for a in group.attempts}
    # A recorded stream has no segments; in a run, steps of warm-up and profile have none of these.
    steps = [s for s in log.steps if segments == {None} or s.segment in segments - {None}]
    return step_aggregates(
        steps,
        segment=group.words or "all segments",
        clock_domain=clock_domain,
        level=group.server_level,
        seed=group.seed,
    )


def window_document(window: Window | Absent) -> dict[str, Any]:
    """A window as JSON, or the reason why there is none."""
    if isinstance(window, Absent):
        return {"from_ns": None, "to_ns": None, "chosen": None, "absent": window.reason}
    return {
        "from_ns": window.from_ns,
        "to_ns": window.to_ns,
        "chosen": window.chosen,
        "absent": None,
    }
