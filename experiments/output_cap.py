"""A difference in the output cap (``max_tokens``): recorded first, then classed; never "not comparable".

It is a controlled variable if the study moved it; a same-tier comparison if no output reached its cap, so
that the cap did nothing; else a stratified one: outputs that hit the cap apart from those that did not, and
only there is it a confounder. Without observation the class is unknown.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

_CAPS = re.compile(r"workload\.(cases\.\d+\.)?output_tokens")


class CapClass(StrEnum):
    controlled_variable = "controlled variable"
    same_tier = "same-tier comparison"
    stratified = "stratified comparison"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapsReached:
    """For each cap's path, how many outputs reached it on each side; null where it was not observed."""

    left: Mapping[str, int | None] = field(default_factory=dict)
    right: Mapping[str, int | None] = field(default_factory=dict)


def is_output_cap(path: str) -> bool:
    """Does this field cap outputs that are measured? (Warm-up and profile outputs are not.)"""
    return _CAPS.fullmatch(path) is not None


def classify(path: str, *, declared: bool, caps: CapsReached | None) -> tuple[str, str]:
    """Verdict word and note for a cap that differs."""
    if declared:
        return "declared variable", CapClass.controlled_variable.value
    left = None if caps is None else caps.left.get(path)
    right = None if caps is None else caps.right.get(path)
    if left is None or right is None:
        return "unknown", "whether outputs reached their cap was not observed on both sides"
    if left == 0 and right == 0:
        return "declared variable", f"{CapClass.same_tier.value}: no output reached its cap"
    return (
        "confounder",
        f"{CapClass.stratified.value}: {left} outputs on the left and {right} on the right reached their "
        "cap; compare them apart from those that did not",
    )
