"""The highest rate or concurrency that meets an SLO, by a rule that is declared before the first probe.

From ``start`` the value is doubled while it meets, or halved while it does not, until it is bracketed; then
it is bisected in log space until highest met and lowest not met are within ``ratio``. A probe meets when its
goodput over *offered* requests is at least ``share``. One that cannot be judged is invalid: the search goes
below it, and it is never an SLO that was missed, nor one that was met.

Pure: probes in, the next value or the end out. The same probes give the same next value.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Over(StrEnum):
    """What is searched: requests a second of an open loop, or requests in flight of a closed one."""

    rate = "rate"
    concurrency = "concurrency"


class Verdict(StrEnum):
    met = "met"
    not_met = "not met"
    invalid = "invalid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """``repeats`` is how often each edge of the final interval must have been probed; all must agree."""

    over: Over = Over.rate
    start: float = 1.0
    floor: float = 0.0625
    limit: float = 1024.0
    ratio: float = 1.1
    share: float = 0.99
    repeats: int = 1
    most_probes: int = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    value: float
    verdict: Verdict
    reason: str  # why it is invalid, or what was compared
    goodput: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Probe this value next, and what for."""

    value: float
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """``highest_met`` lies below ``lowest_not_met``; null where no probe says so.

    ``upper`` is the lowest value above it that did not meet or could not be judged. ``remarks`` hold what the
    interval alone would hide: values that met above one that did not, repeats that disagree.
    """

    highest_met: float | None
    lowest_not_met: float | None
    upper: float | None
    upper_verdict: Verdict | None
    converged: bool
    why: str
    remarks: tuple[str, ...] = ()

    def as_document(self) -> dict[str, Any]:
        width = None
        if self.highest_met is not None and self.lowest_not_met is not None:
            width = self.lowest_not_met / self.highest_met
        return {
            "highest_met": self.highest_met,
            "lowest_not_met": self.lowest_not_met,
            "ratio": width,
            "upper": self.upper,
            "upper_verdict": None if self.upper_verdict is None else self.upper_verdict.value,
            "converged": self.converged,
            "why": self.why,
            "remarks": list(self.remarks),
        }


@dataclass(slots=True)
class _Known:
    """Verdicts by value: a value meets only if every probe of it did."""

    met: list[float] = field(default_factory=list)
    failing: dict[float, Verdict] = field(default_factory=dict)
    times: dict[float, int] = field(default_factory=dict)


def next_step(probes: Sequence[Probe], rule: Rule) -> Ask | Found:
    """What to probe next, or what was found."""
    known = _known(probes)
    upper = min(known.failing, default=None)
    lower = max((v for v in known.met if upper is None or v < upper), default=None)

    def end(why: str, *, converged: bool) -> Found:
        return _found(probes, known, lower, upper, why, converged=converged)

    asked = _asked(lower, upper, known, rule)
    if isinstance(asked, str):
        bounded = upper is not None and known.failing[upper] is Verdict.not_met
        return end(asked, converged=lower is not None and bounded)
    if len(probes) >= rule.most_probes:
        return end(f"the declared {rule.most_probes} probes are used up", converged=False)
    return asked


def _asked(lower: float | None, upper: float | None, known: _Known, rule: Rule) -> Ask | str:
    """The next value, or why there is none."""
    if upper is None:
        if lower is None:
            return Ask(value=_fit(rule.start, rule), why="start")
        if lower >= rule.limit:
            return f"met up to the declared limit of {rule.limit:g}"
        return Ask(value=_fit(min(lower * 2, rule.limit), rule), why="doubled: all met so far")
    if lower is None:
        floor = _fit(rule.floor, rule)
        if upper <= floor:
            return f"not met even at the floor of {floor:g}"
        return Ask(value=_fit(max(upper / 2, floor), rule), why="halved: none met so far")
    middle = _fit(math.sqrt(lower * upper), rule)
    if upper / lower <= rule.ratio or not lower < middle < upper:
        for edge, name in ((lower, "highest met"), (upper, "lowest not met")):
            if known.times[edge] < rule.repeats:
                return Ask(value=edge, why=f"{name}, once more")
        if upper / lower <= rule.ratio:
            return f"the interval is within the declared ratio of {rule.ratio:g}"
        return "no value lies between: the unit is one"
    return Ask(value=middle, why="bisected in log space")


def _fit(value: float, rule: Rule) -> float:
    return float(max(1, round(value))) if rule.over is Over.concurrency else value


def _known(probes: Sequence[Probe]) -> _Known:
    known = _Known()
    for probe in probes:
        known.times[probe.value] = known.times.get(probe.value, 0) + 1
        if (
            probe.verdict is not Verdict.met
            and known.failing.get(probe.value) is not Verdict.not_met
        ):
            known.failing[probe.value] = probe.verdict
    known.met = [value for value in known.times if value not in known.failing]
    return known


def _found(
    probes: Sequence[Probe],
    known: _Known,
    lower: float | None,
    upper: float | None,
    why: str,
    *,
    converged: bool,
) -> Found:
    not_met = [v for v, verdict in known.failing.items() if verdict is Verdict.not_met]
    return Found(
        highest_met=lower,
        lowest_not_met=min(not_met, default=None),
        upper=upper,
        upper_verdict=None if upper is None else known.failing[upper],
        converged=converged,
        why=why,
        remarks=tuple(_remarks(probes, known, upper)),
    )


def _remarks(probes: Sequence[Probe], known: _Known, upper: float | None) -> list[str]:
    found = []
    for value in sorted(known.times):
        verdicts = {p.verdict for p in probes if p.value == value}
        if len(verdicts) > 1:
            said = ", ".join(sorted(v.value for v in verdicts))
            found.append(f"repeats at {value:g} disagree: {said}")
    if upper is not None and (above := sorted(v for v in known.met if v > upper)):
        values = ", ".join(f"{v:g}" for v in above)
        found.append(
            f"not monotone: met at {values}, above {upper:g} which is {known.failing[upper].value}"
        )
    if upper is not None and known.failing[upper] is Verdict.invalid:
        why = next(p.reason for p in probes if p.value == upper and p.verdict is Verdict.invalid)
        found.append(f"the search was bounded at {upper:g} by an invalid probe: {why}")
    return found
