"""The longest path of a stage graph, slack, sensitivity and what-if, as conditional arithmetic.

E_v = d_v + max over predecessors of E_u (0 when there is none). Several sinks are joined by a node of zero
duration. Edges are real dependencies, never the print order of a log. Numbers from here state the consistency
of durations and dependencies; they are no observation, and they say nothing on combined changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from assay.analysis.errors import BadRecord

LABEL = "arithmetic and dependency consistency, not an observation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One node. ``duration_s`` is its exposed duration: what overlaps another stage is not in it."""

    duration_s: float
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CriticalPath:
    """``finish_s`` by stage, one longest chain, and how much each stage may grow without moving the end."""

    finish_s: dict[str, float]
    total_s: float
    path: tuple[str, ...]
    slack_s: dict[str, float]
    incomplete: str | None  # why the graph cannot be trusted as a path reconstruction, or None
    label: str = LABEL


def critical_path(stages: Mapping[str, Stage], *, not_covered: Sequence[str] = ()) -> CriticalPath:
    """Longest path and slack. ``not_covered`` lists which of waiting, computing, transfer the graph lacks."""
    order = _topological(stages)
    finish: dict[str, float] = {}
    for name in order:
        stage = stages[name]
        finish[name] = stage.duration_s + max((finish[p] for p in stage.after), default=0.0)
    total = max(finish.values(), default=0.0)
    latest = dict.fromkeys(stages, total)
    for name in reversed(order):
        start = latest[name] - stages[name].duration_s
        for before in stages[name].after:
            latest[before] = min(latest[before], start)
    return CriticalPath(
        finish_s=finish,
        total_s=total,
        path=_chain(stages, finish),
        slack_s={name: latest[name] - finish[name] for name in order},
        incomplete=f"the graph does not cover {', '.join(not_covered)}" if not_covered else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """A conditional statement: true only while its assumptions hold."""

    stage: str
    new_duration_s: float
    total_s: float
    gain_s: float
    path: tuple[str, ...]
    path_switched: bool
    assumptions: tuple[str, ...]
    sentence: str


def overlaps(stages: Mapping[str, Stage], evidence: Mapping[frozenset[str], str]) -> list[str]:
    """Every pair of stages that the graph lets run at once, each with its evidence or as an assumption."""
    before: dict[str, set[str]] = {}
    found = []
    for name in _topological(stages):
        before[name] = {e for p in stages[name].after for e in (p, *before[p])}
        for other in before:
            if other != name and other not in before[name]:
                named = evidence.get(frozenset({name, other}))
                found.append(f"{other} and {name} overlap ({named or 'assumed: no evidence'})")
    return found


def what_if(
    stages: Mapping[str, Stage],
    stage: str,
    new_duration_s: float,
    *,
    overlap_evidence: Mapping[frozenset[str], str] | None = None,
) -> WhatIf:
    """End-to-end time if one stage took ``new_duration_s`` and nothing else changed.

    ``overlap_evidence`` names, for a pair of stages, the record that shows them at once; every other pair of
    parallel stages stands among the assumptions as assumed.
    """
    if new_duration_s < 0:
        raise BadRecord(
            field=f"duration of {stage}",
            seen=f"{new_duration_s} s",
            allowed="0 s or more",
            remedy="State the new duration of the stage.",
        )
    before = critical_path(stages)
    changed = {**stages, stage: replace(stages[stage], duration_s=new_duration_s)}
    after = critical_path(changed)
    gain = before.total_s - after.total_s
    assumptions = (
        *overlaps(stages, overlap_evidence or {}),
        "all other stages are unchanged",
        "the dependencies are unchanged",
    )
    kind = (
        "an optimistic conditional lower bound, not attainable performance"
        if new_duration_s == 0
        else "a conditional estimate"
    )
    return WhatIf(
        stage=stage,
        new_duration_s=new_duration_s,
        total_s=after.total_s,
        gain_s=gain,
        path=after.path,
        path_switched=after.path != before.path,
        assumptions=assumptions,
        sentence=(
            f"If {stage} took {new_duration_s:g} s, and {', '.join(assumptions)}, "
            f"end to end would take {after.total_s:.3f} s ({gain:.3f} s less): {kind}. "
            "It says nothing on combined changes."
        ),
    )


def gain_limit_s(stages: Mapping[str, Stage], stage: str) -> float:
    """The most that end to end can gain from this stage alone: its time set to zero."""
    return what_if(stages, stage, 0.0).gain_s


def reachable_alone(stages: Mapping[str, Stage], stage: str, goal_s: float) -> bool:
    """Whether a goal lies above the optimistic bound of this stage alone. False rules out the plan that
    changes only this stage, and nothing else: combined changes are not judged."""
    return what_if(stages, stage, 0.0).total_s <= goal_s


@dataclass(frozen=True, slots=True, kw_only=True)
class PathRange:
    """Durations of one stage between which the critical path stays the one it is now."""

    stage: str
    low_s: float
    high_s: float | None  # None: no upper end
    on_path: bool
    note: str = field(default="outside this range the local share is not extrapolated")


def path_range(stages: Mapping[str, Stage], stage: str) -> PathRange:
    """For a stage off the path: from 0 to duration + slack. On the path: down to where a rival takes over."""
    now = critical_path(stages)
    duration = stages[stage].duration_s
    slack = now.slack_s[stage]
    if stage not in now.path:
        return PathRange(stage=stage, low_s=0.0, high_s=duration + slack, on_path=False)
    # As the stage shrinks, only chains that avoid it keep their length: the best of them bounds the range.
    without = {
        name: replace(s, duration_s=s.duration_s if name != stage else float("-inf"))
        for name, s in stages.items()
    }
    finish: dict[str, float] = {}
    for name in _topological(stages):
        s = without[name]
        finish[name] = s.duration_s + max((finish[p] for p in s.after), default=0.0)
    rival = max(finish.values(), default=float("-inf"))
    low = max(0.0, duration - (now.total_s - rival)) if rival != float("-inf") else 0.0
    return PathRange(stage=stage, low_s=low, high_s=None, on_path=True)


def _topological(stages: Mapping[str, Stage]) -> list[str]:
    for name, stage in stages.items():
        if unknown := [p for p in stage.after if p not in stages]:
            raise BadRecord(
                field=f"predecessors of {name}",
                seen=", ".join(unknown),
                allowed=", ".join(stages),
                remedy="Name stages of this graph.",
            )
    order: list[str] = []
    waiting = {name: set(stage.after) for name, stage in stages.items()}
    while waiting:
        ready = [name for name, before in waiting.items() if not before]
        if not ready:
            raise BadRecord(
                field="stage graph",
                seen=f"a cycle through {', '.join(sorted(waiting))}",
                allowed="a directed graph without cycles",
                remedy="Edges are dependencies; remove the one that is not.",
            )
        for name in ready:
            del waiting[name]
        for before in waiting.values():
            before.difference_update(ready)
        order.extend(ready)
    return order


def _chain(stages: Mapping[str, Stage], finish: Mapping[str, float]) -> tuple[str, ...]:
    if not finish:
        return ()
    # Among sinks of equal finish the last in dependency order is the end of the chain (zero stages included).
    name = max(finish, key=lambda n: (finish[n], list(finish).index(n)))
    chain = [name]
    while stages[name].after:
        name = max(stages[name].after, key=lambda n: finish[n])
        chain.append(name)
    return tuple(reversed(chain))
