"""Where the token counts of one attempt disagree. Chunks are no tokens and are not compared."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import TypedDict

import numpy as np

from assay.analysis.columns import Mask, number, only
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


def disagreement_words(attempts: Sequence[Attempt]) -> str | None:
    """How many attempts disagree and between which counts; None if none does."""
    doubtful = only(attempts, _may_disagree(attempts))
    found: Sequence[list[CountDisagreement]] = [d for a in doubtful if (d := disagreements(a))]
    if not found:
        return None
    pairs = Counter(" and ".join(d["between"]) for each in found for d in each)
    words = ", ".join(f"{pair} in {number}" for pair, number in sorted(pairs.items()))
    return f"token counts that disagree in {len(found)} attempt(s): {words}"


def _may_disagree(attempts: Sequence[Attempt]) -> Mask:
    """Of which attempts two known counts differ."""
    counts = [number(attempts, n) for n in ("reply.token_ids", "reply.usage_tokens", "retokenized")]
    found = np.zeros(len(attempts), dtype=bool)
    for (one, is_known), (other, other_is_known) in combinations(counts, 2):
        found |= is_known & other_is_known & (one != other)
    return found
