"""The order in which "where is it slow" is shown; a later step without the earlier ones proves nothing.

Source: source text, section 1, question 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from assay.analysis.errors import ClaimRefused


class Step(StrEnum):
    """In order. Each needs evidence of its own."""

    boundary_and_unit = "boundary and unit"
    end_to_end = "end to end in one clock domain"
    labelled_path = "path rebuilt with labelled intervals"
    intervention = "intervention and repeat"


ORDER = tuple(Step)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One step with the evidence that carries it: a pointer, never a belief."""

    step: Step
    evidence: str


def conclude(claim: str, links: Sequence[Link]) -> str:
    """The claim with its chain, if all four steps are there in order, each with evidence."""
    given = [link.step for link in links]
    if given != list(ORDER[: len(given)]):
        raise ClaimRefused(
            field="order of the proof",
            seen=", ".join(given),
            allowed=", ".join(ORDER),
            remedy="Show the earlier steps first.",
        )
    if bare := [link.step for link in links if not link.evidence.strip()]:
        raise ClaimRefused(
            field="evidence",
            seen=f"none for {', '.join(bare)}",
            allowed="a pointer into a bundle for each step",
            remedy="Name the file and line, the rows or the second run.",
        )
    if len(given) < len(ORDER):
        raise ClaimRefused(
            field="claim",
            seen=f"{claim!r} after {given[-1] if given else 'no step'}",
            allowed="a claim after all four steps",
            remedy=f"Still to show: {', '.join(ORDER[len(given) :])}. Until then it is a hypothesis.",
        )
    return f"{claim}: " + "; ".join(f"{link.step} ({link.evidence})" for link in links)
