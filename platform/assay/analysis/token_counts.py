"""Where the token counts of one attempt disagree. Chunks are no tokens and are not compared."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import TypedDict

from assay.analysis.wire.attempt import Attempt


class CountDisagreement(TypedDict):
    """Two counts of the same output: their names and values, in the same order."""

    between: list[str]
    values: list[int]


def token_counts(attempt: Attempt) -> dict[str, int | None]:
    """The three counts of generated tokens: ids that came, the server's usage, the text counted again."""
    return {
        "token_ids": attempt.reply.token_ids,
        "usage": attempt.reply.usage_tokens,
        "retokenized": attempt.retokenized,
    }


def disagreements(attempt: Attempt) -> list[CountDisagreement]:
    """Every pair of known counts that differ."""
    known = [(name, value) for name, value in token_counts(attempt).items() if value is not None]
    return [
        CountDisagreement(between=[a, b], values=[first, second])
        for (a, first), (b, second) in combinations(known, 2)
        if first != second
    ]


def disagreement_words(attempts: Iterable[Attempt]) -> str | None:
    """How many attempts disagree and between which counts; None if none does."""
    found: Sequence[list[CountDisagreement]] = [d for a in attempts if (d := disagreements(a))]
    if not found:
        return None
    pairs = Counter(" and ".join(d["between"]) for each in found for d in each)
    words = ", ".join(f"{pair} in {number}" for pair, number in sorted(pairs.items()))
    return f"token counts that disagree in {len(found)} attempt(s): {words}"
