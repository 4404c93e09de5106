"""How much longer a model's input became, and what that may be put down to.

Token counts come from the selected tokenizer on the fully expanded input, never from characters; a sum of
parts is not a count, since a template may wrap what it joins. Only a single changed variable is an
attribution.
"""

from collections.abc import Collection
from dataclasses import dataclass

from assay.analysis.errors import BadRecord

WHOLE_INPUT = "complete model input differs"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputChange:
    """``factor`` is after / before; ``unexplained_tokens`` is what a sum of the known parts leaves over."""

    relative_increase: float
    factor: float
    sum_of_parts: int | None
    unexplained_tokens: int | None
    attribution: str


def input_change(
    *,
    before_tokens: int,
    after_tokens: int,
    changed: Collection[str],
    added_tokens: int | None = None,
) -> InputChange:
    """Compare two encoded inputs. ``changed`` names the identity items that differ (template, tools, ...)."""
    if before_tokens <= 0:
        raise BadRecord(
            field="before_tokens",
            seen=str(before_tokens),
            allowed="1 or more",
            remedy="Count the expanded input with the pinned tokenizer.",
        )
    parts = None if added_tokens is None else before_tokens + added_tokens
    return InputChange(
        relative_increase=(after_tokens - before_tokens) / before_tokens,
        factor=after_tokens / before_tokens,
        sum_of_parts=parts,
        unexplained_tokens=None if parts is None else after_tokens - parts,
        attribution=next(iter(changed)) if len(changed) == 1 else WHOLE_INPUT,
    )
