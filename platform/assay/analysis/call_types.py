"""Calls of different types are never in one aggregate: a rerank has no first token, a generation no items."""

from collections.abc import Sequence
from functools import partial
from operator import is_

from assay.analysis.columns import only, values, where
from assay.analysis.errors import ClaimRefused
from assay.analysis.wire.attempt import Attempt
from experiments.schema.workload import CallType


def by_call_type(attempts: Sequence[Attempt]) -> dict[CallType, Sequence[Attempt]]:
    """The attempts of each type, in order of first appearance."""
    kinds = values(attempts, "call_type")
    return {
        kind: only(attempts, where(attempts, "call_type", partial(is_, kind))) for kind in kinds
    }


def one_call_type(attempts: Sequence[Attempt], *, field: str) -> CallType:
    """The type of all of these attempts (of none: generation). Raises ClaimRefused for several."""
    kinds = sorted(values(attempts, "call_type"))
    if len(kinds) > 1:
        raise ClaimRefused(
            field=field,
            seen=f"calls of types {', '.join(kinds)}",
            allowed="calls of one type",
            remedy="Aggregate each type apart; they share no metric.",
        )
    return kinds[0] if kinds else CallType.generation
