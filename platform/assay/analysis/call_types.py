"""Calls of different types are never in one aggregate: a rerank has no first token, a generation no items."""

from collections.abc import Iterable, Sequence

from assay.analysis.errors import ClaimRefused
from assay.analysis.wire.attempt import Attempt
from experiments.schema.workload import CallType


def by_call_type(attempts: Sequence[Attempt]) -> dict[CallType, list[Attempt]]:
    """The attempts of each type, in order of first appearance."""
    found: dict[CallType, list[Attempt]] = {}
    for attempt in attempts:
        found.setdefault(attempt.call_type, []).append(attempt)
    return found


def one_call_type(attempts: Iterable[Attempt], *, field: str) -> CallType:
    """The type of all of these attempts (of none: generation). Raises ClaimRefused for several."""
    kinds = sorted({attempt.call_type for attempt in attempts})
    if len(kinds) > 1:
        raise ClaimRefused(
            field=field,
            seen=f"calls of types {', '.join(kinds)}",
            allowed="calls of one type",
            remedy="Aggregate each type apart; they share no metric.",
        )
    return kinds[0] if kinds else CallType.generation
