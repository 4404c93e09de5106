"""A review's checklist: the questions that apply to its runs, answered by the archive where it can.

An item is settled when the archive shows that it holds, or when a person answered it with a note. What the
archive shows not to hold needs a person too: somebody must have read it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from assay.review.checks import Seen
from assay.review.facts import Facts
from assay.review.questions import QUESTIONS, SET_QUESTIONS


class Answer(StrEnum):
    holds = "holds"
    does_not_hold = "does_not_hold"
    not_applicable = "not_applicable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """``automatic`` is empty where only a person can say."""

    key: str
    requirement: str
    question: str
    automatic: Answer | None
    evidence: tuple[str, ...]


def checklist(runs: Sequence[Facts]) -> list[Item]:
    """Items in the order of the requirements' table; those about several runs together come last."""
    items = []
    for question in QUESTIONS:
        concerned = [facts for facts in runs if question.applies(facts)]
        if not concerned:
            continue
        seen = [
            (facts.name, question.check(facts) if question.check else None) for facts in concerned
        ]
        items.append(
            Item(
                key=question.key,
                requirement=question.requirement,
                question=question.text,
                automatic=_together(found for _, found in seen),
                evidence=_evidence(seen),
            )
        )
    if len(runs) > 1:
        for about_all in SET_QUESTIONS:
            whole = about_all.check(runs) if about_all.check else None
            items.append(
                Item(
                    key=about_all.key,
                    requirement=about_all.requirement,
                    question=about_all.text,
                    automatic=_together([whole]),
                    evidence=(whole.evidence,) if whole else (),
                )
            )
    return items


def settled(*, automatic: str, answered: bool) -> bool:
    return answered or automatic == Answer.holds


def _together(seen: Iterable[Seen | None]) -> Answer | None:
    """One run that does not hold is enough; one that does not say leaves the rest to a person."""
    found = list(seen)
    if any(one is not None and not one.holds for one in found):
        return Answer.does_not_hold
    return None if None in found else Answer.holds


def _evidence(seen: Sequence[tuple[str, Seen | None]]) -> tuple[str, ...]:
    """What was seen, each text once, with the runs that it is true of when there are several."""
    by_text: dict[str, list[str]] = {}
    for name, found in seen:
        if found is not None:
            by_text.setdefault(found.evidence, []).append(name)
    if len(seen) == 1:
        return tuple(by_text)
    return tuple(f"{_whose(names, of=len(seen))}: {text}" for text, names in by_text.items())


def _whose(names: Sequence[str], *, of: int) -> str:
    return f"all {of} runs" if len(names) == of else ", ".join(names)
