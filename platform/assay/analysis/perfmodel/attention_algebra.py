"""Two identities behind attention kernels, as plain arithmetic, and what they do not prove.

A compressed cache may be expanded to keys, or its projection absorbed into the query: equal scores in exact
arithmetic without position encoding. Softmax may run block by block with three running values. Neither says
that a position encoding, a precision or an engine allows it, or that anything gets faster. Sources: chapter
2.8.2 and 2.8.3.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf

from assay.analysis.perfmodel.errors import ModelRefused
from runners.protocol.errors import Finding


def expanded_score(
    query: Sequence[float], projection: Sequence[Sequence[float]], latent: Sequence[float]
) -> float:
    """q . (W c): the key is expanded from its latent first."""
    key = [sum(w * c for w, c in zip(row, latent, strict=True)) for row in projection]
    return sum(q * k for q, k in zip(query, key, strict=True))


def absorbed_score(
    query: Sequence[float], projection: Sequence[Sequence[float]], latent: Sequence[float]
) -> float:
    """(W^T q) . c: the projection is absorbed into the query, the latent is read as it is stored."""
    absorbed = [
        sum(row[column] * q for row, q in zip(projection, query, strict=True))
        for column in range(len(latent))
    ]
    return sum(a * c for a, c in zip(absorbed, latent, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReorderingCheck:
    """A numerical comparison of both orders on one path: its position encoding, precision and error."""

    position_encoding: str
    precision: str
    largest_error: float
    tolerance: float


def reordering_holds(
    checks: Sequence[ReorderingCheck], *, position_encoding: str, precision: str
) -> bool:
    """Whether the absorbed order was seen to hold on this path; refused when nobody compared it there."""
    found = [
        check
        for check in checks
        if (check.position_encoding, check.precision) == (position_encoding, precision)
    ]
    if not found:
        raise ModelRefused(
            Finding(
                field="reordering",
                seen=f"no comparison with {position_encoding} in {precision}",
                allowed="a numerical comparison of both orders on that very path",
                remedy="The algebra holds in exact arithmetic without position encoding; compare the path.",
            )
        )
    return all(check.largest_error <= check.tolerance for check in found)


def full_softmax(scores: Sequence[float], values: Sequence[float]) -> float:
    """sum e^s v / sum e^s over all scores at once."""
    weights = [exp(s) for s in scores]
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)


def online_softmax(scores: Sequence[float], values: Sequence[float], *, block: int) -> float:
    """The same in blocks: running maximum m, sum l and output o. Every pair is still computed."""
    m, total, out = -inf, 0.0, 0.0
    for start in range(0, len(scores), block):
        part, weighted = scores[start : start + block], values[start : start + block]
        highest = max(m, *part)
        weights = [exp(s - highest) for s in part]
        shrink = exp(m - highest)
        total = total * shrink + sum(weights)
        out = out * shrink + sum(w * v for w, v in zip(weights, weighted, strict=True))
        m = highest
    return out / total
