"""Four levels of reproducibility, each shown by evidence of its own and by no other.

Stable statistics say nothing of single answers, and do not excuse a determinism regression that failed. A
fixed seed is evidence of no level.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.errors import ClaimRefused
from assay.analysis.repetition.comparison import Repetition, Setting, Verdict, check_comparable
from experiments.schema.artifact import ReproducibilityLevel


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelEvidence:
    """``held`` is what the check of this level found."""

    level: ReproducibilityLevel
    held: bool
    words: str


def numeric(first: Setting, again: Setting, found: Repetition) -> LevelEvidence:
    """Evidence of numeric consistency. Raises ClaimRefused where the comparison cannot carry it."""
    check_comparable(first, again)
    unknown, different = found.count(Verdict.unknown), found.count(Verdict.different)
    if unknown or not found.requests:
        raise ClaimRefused(
            field="repetition.requests",
            seen=f"{unknown} of {len(found.requests)} requests could not be compared"
            if found.requests
            else "no request was compared",
            allowed="token ids of every request in both runs",
            remedy="Ask for token ids, and repeat a run whose requests all complete.",
        )
    words = f"{found.count(Verdict.equal)} of {len(found.requests)} requests have equal token ids"
    return LevelEvidence(level=ReproducibilityLevel.numeric, held=not different, words=words)


def claim_level(level: ReproducibilityLevel, evidence: Sequence[LevelEvidence]) -> LevelEvidence:
    """The evidence that shows the level. Raises ClaimRefused without its own, and where it did not hold."""
    own = next((e for e in evidence if e.level is level), None)
    others = ", ".join(e.level for e in evidence if e.level is not level)
    if own is None:
        raise ClaimRefused(
            field="reproducibility.level",
            seen=f"{level}, with evidence of {others or 'nothing'}",
            allowed=f"evidence of {level} itself",
            remedy="One level's evidence does not stand in for another's: check this one.",
        )
    if not own.held:
        raise ClaimRefused(
            field="reproducibility.level",
            seen=f"{level}: {own.words}" + (f"; {others} does not excuse it" if others else ""),
            allowed="a check of this level that held",
            remedy="The regression failed: find where the runs part.",
        )
    return own
