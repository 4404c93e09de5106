"""Test residuals for patterns that name an omission: growth with context, growth at small batch, jumps.

A pattern counts only if it is both significant (p below ``SIGNIFICANT``) and large (``LARGE`` of the
predicted time), and only with enough steps. Each is evidence, in one sentence with its numbers, not a verdict
on the cause.
"""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from types import ModuleType

from assay.analysis.residual.steps import StepResidual

FEWEST_STEPS = 20
FEWEST_LEVELS = 5
FEWEST_PER_GROUP = 5
SIGNIFICANT = 0.01
LARGE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """``kind``: context | small_batch | jump. ``batch`` is the group it was seen in, None for all."""

    kind: str
    batch: int | None
    p_value: float
    effect: float  # share of the predicted time over the range seen
    sentence: str


def patterns(residuals: Sequence[StepResidual]) -> list[Pattern]:
    """All patterns that hold in these steps."""
    groups: dict[int, list[StepResidual]] = {}
    for residual in residuals:
        groups.setdefault(residual.batch, []).append(residual)
    found = [growth_with_context(batch, group) for batch, group in sorted(groups.items())]
    found.append(growth_at_small_batch(residuals))
    found += [jump(groups[small], groups[large]) for small, large in pairwise(sorted(groups))]
    return [pattern for pattern in found if pattern is not None]


def _tests() -> ModuleType:
    """Loaded at the first test: it takes a second, and most readings have too few steps for one."""
    return importlib.import_module("scipy.stats")


def growth_with_context(batch: int, group: Sequence[StepResidual]) -> Pattern | None:
    """Residual against stored tokens at one batch: Kendall's tau, slope by Theil and Sen.

    Growth points at state reads or an index that the model counts too low.
    """
    stored = [r.stored_tokens for r in group]
    if len(group) < FEWEST_STEPS or len(set(stored)) < FEWEST_LEVELS:
        return None
    rest = [r.measured_s - r.predicted_s for r in group]
    tau, p_value = _tests().kendalltau(stored, rest)
    slope = float(_tests().theilslopes(rest, stored).slope)
    effect = slope * (max(stored) - min(stored)) / median(r.predicted_s for r in group)
    if not (p_value < SIGNIFICANT and tau > 0 and effect > LARGE):
        return None
    return Pattern(
        kind="context",
        batch=batch,
        p_value=float(p_value),
        effect=effect,
        sentence=(
            f"residual grows with context at batch {batch}: {slope * 1e6:.2f} us a stored token more than "
            f"modelled (Kendall tau {tau:.2f}, p {p_value:.1g}, n {len(group)})"
        ),
    )


def growth_at_small_batch(residuals: Sequence[StepResidual]) -> Pattern | None:
    """Relative residual against batch: falling means a fixed cost that the model counts too low."""
    batches = [r.batch for r in residuals]
    if len(residuals) < FEWEST_STEPS or len(set(batches)) < 2:
        return None
    relative = [r.relative for r in residuals]
    tau, p_value = _tests().kendalltau(batches, relative)
    small = median(r.relative for r in residuals if r.batch == min(batches))
    large = median(r.relative for r in residuals if r.batch == max(batches))
    if not (p_value < SIGNIFICANT and tau < 0 and small - large > LARGE and small > 0):
        return None
    return Pattern(
        kind="small_batch",
        batch=None,
        p_value=float(p_value),
        effect=small - large,
        sentence=(
            f"relative residual is {small:+.0%} at batch {min(batches)} and {large:+.0%} at batch "
            f"{max(batches)}: a fixed cost (Kendall tau {tau:.2f}, p {p_value:.1g}, n {len(residuals)})"
        ),
    )


def jump(before: Sequence[StepResidual], after: Sequence[StepResidual]) -> Pattern | None:
    """Relative residual higher from one batch to the next larger one: another kernel, padding, a fallback."""
    if len(before) < FEWEST_PER_GROUP or len(after) < FEWEST_PER_GROUP:
        return None
    one, two = [r.relative for r in before], [r.relative for r in after]
    p_value = float(_tests().mannwhitneyu(two, one, alternative="greater").pvalue)
    effect = median(two) - median(one)
    if not (p_value < SIGNIFICANT and effect > LARGE):
        return None
    return Pattern(
        kind="jump",
        batch=after[0].batch,
        p_value=p_value,
        effect=effect,
        sentence=(
            f"relative residual jumps by {effect:+.0%} from batch {before[0].batch} to {after[0].batch} "
            f"(Mann-Whitney p {p_value:.1g}, n {len(one)} and {len(two)})"
        ),
    )
