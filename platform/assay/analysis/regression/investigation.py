"""From a suspicion to a verdict: which fresh starts to ask for next. Pure, so that it can be broken off and
taken up again, and so that the simulation and the platform follow the very same steps.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from assay.analysis.regression.baseline import Baseline
from assay.analysis.regression.confirmation import (
    Confirmation,
    Verdict,
    by_pairs,
    by_repeats,
    is_far,
)


class Ask(StrEnum):
    nothing = "nothing"
    repeat = "repeat"  # one fresh start in the new environment
    pair = "pair"  # one in the baseline's and one in the new


@dataclass(frozen=True, slots=True, kw_only=True)
class Fresh:
    """The fresh starts made for one suspicion so far. A pair is (baseline's environment, new)."""

    repeats: tuple[float, ...] = ()
    pairs: tuple[tuple[float, float], ...] = ()

    @property
    def starts(self) -> int:
        return len(self.repeats) + 2 * len(self.pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What is known now and what to ask for; ``ask`` is nothing once the verdict is not open."""

    ask: Ask
    confirmation: Confirmation | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Investigation:
    baseline: Baseline
    suspect: float
    fresh: Fresh = field(default_factory=Fresh)

    def step(self) -> Step:
        """A start far off is repeated; what the repeats do not show, and anything nearer, goes to pairs."""
        if is_far(self.baseline, self.suspect):
            seen = by_repeats(self.baseline, self.suspect, self.fresh.repeats)
            if seen.verdict is not Verdict.unchanged:
                ask = Ask.repeat if seen.verdict is Verdict.open else Ask.nothing
                return Step(ask=ask, confirmation=seen)
        seen = by_pairs(self.baseline, self.fresh.pairs)
        ask = Ask.pair if seen.verdict is Verdict.open else Ask.nothing
        return Step(ask=ask, confirmation=seen)
