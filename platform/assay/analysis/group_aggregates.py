"""Which attempts the aggregates of a run are over, in which window, and all of those aggregates.

The load segment where there is one (archive cases have shapes of their own and are shown one by one), else
all measured attempts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.analysis.aggregates import Scope, of_attempts
from assay.analysis.cached_share import cached_share
from assay.analysis.call_types import by_call_type, one_call_type
from assay.analysis.columns import number, only, values, where
from assay.analysis.compat.column_aggregates import of_recorded
from assay.analysis.documents import Aggregate
from assay.analysis.figures import Figures
from assay.analysis.goodput import goodput
from assay.analysis.iterations import IterationLog
from assay.analysis.load_windows import LoadWindow
from assay.analysis.observed import CountedStep, ObservedStep
from assay.analysis.rates import ServiceLevels, outcome_shares
from assay.analysis.shelf import Shelf
from assay.analysis.step_aggregates import step_aggregates
from assay.analysis.tries import request_codes
from assay.analysis.window import Window
from assay.analysis.window_rates import window_rates
from assay.analysis.wire.attempt import Attempt
from experiments.schema.workload import CallType
from runners.protocol.events import Segment


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The attempts aggregated, how they are called, and of which limits each side's numbers are."""

    attempts: Sequence[Attempt]
    superseded: frozenset[str]  # requests whose answers were asked for again
    unplanned: frozenset[str]  # the requests that asked
    words: str
    is_load: bool
    client_level: str
    server_level: str
    seed: int

    @property
    def clock_domain(self) -> str:
        domains = values(self.attempts, "clock_domain")
        return min(domains) if len(domains) == 1 else "several"

    @property
    def scope(self) -> Scope:
        return Scope(
            population=f"attempts, {self.words}" if self.words else "attempts",
            denominator="attempts",
            perspective="client",
            clock_domain=self.clock_domain,
            limited_by=self.client_level,
        )


def group_of(
    attempts: Sequence[Attempt],
    *,
    client_level: str,
    server_level: str,
    seed: int,
    superseded: frozenset[str] = frozenset(),
    unplanned: frozenset[str] = frozenset(),
) -> Group:
    load = only(attempts, where(attempts, "segment", lambda segment: segment == Segment.load))
    return Group(
        attempts=load or attempts,
        superseded=superseded,
        unplanned=unplanned,
        words=f"segment {Segment.load.value}" if load else "",
        is_load=bool(load),
        client_level=client_level,
        server_level=server_level,
        seed=seed,
    )


def group_aggregates(
    group: Group,
    figures: Figures,
    windows: Sequence[LoadWindow],
    *,
    asked: Window | None,
    slo: ServiceLevels,
    offered: int | None,
    shelf: Shelf | None = None,
) -> list[Aggregate]:
    """Attempt rules, outcome shares, rates and goodput. ``offered`` counts the group's planned requests.

    Rates are taken over each of the windows; goodput over the first, which is the whole load's. Raises
    ClaimRefused where the group holds calls of several types.
    """
    call_type = one_call_type(group.attempts, field="attempts of an aggregate")
    slo = slo.of_calls(call_type)
    chosen, words = group.attempts, group.words
    if asked is not None:
        sent, was_sent = number(chosen, "sent_ns")
        chosen = only(chosen, was_sent & (asked.from_ns <= sent) & (sent < asked.to_ns))
        words = f"{words}, sent in the window".removeprefix(", ")
    scope = replace(group, words=words).scope
    found = of_attempts(
        chosen,
        figures,
        segment=words,
        levels={"client": group.client_level, "server": group.server_level},
        seed=group.seed,
        shelf=shelf,
    )
    found += outcome_shares(chosen, scope)
    found.append(cached_share(chosen, scope))
    for one in windows:
        found += window_rates(group.attempts, one, scope, superseded=group.superseded)
    window = windows[0].window
    if slo.asked:
        judged = chosen
        if group.unplanned:
            judged = [a for a in chosen if a.ids.request_id not in group.unplanned]
        seen = len(np.unique(request_codes(judged)))
        found += goodput(
            judged,
            slo,
            offered=seen if offered is None or asked is not None else max(seen, offered),
            window=window if isinstance(window, Window) else None,
            scope=scope,
        )
        if isinstance(window, Window):
            found[-1]["window_ns"] = [window.from_ns, window.to_ns]
    if call_type is CallType.generation:
        found += of_recorded(chosen, scope, shelf)
    return found


def groups_by_call_type(group: Group) -> list[Group]:
    """One group for each type of call; its words name the type where that is no plain generation."""
    found = by_call_type(group.attempts)
    if list(found) in ([], [CallType.generation]):
        return [group]
    return [
        replace(group, attempts=own, words=f"{group.words}, {kind} calls".removeprefix(", "))
        for kind, own in found.items()
    ]


def iteration_aggregates(log: IterationLog, group: Group, *, clock_domain: str) -> list[Aggregate]:
    """Step times and batch sizes of the group's segment."""
    segments = set(values(group.attempts, "segment"))
    # A recorded stream has no segments; in a run, steps of warm-up and profile have none of these.
    every: list[ObservedStep | CountedStep] = [*log.steps, *(step for step, _ in log.counted)]
    steps = [s for s in every if segments == {None} or s.segment in segments - {None}]
    return step_aggregates(
        steps,
        segment=group.words or "all segments",
        clock_domain=clock_domain,
        level=group.server_level,
        seed=group.seed,
    )
