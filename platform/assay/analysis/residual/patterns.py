"""Test residuals for patterns that name an omission: growth with context, growth at small batch, jumps.

Every question that the steps allow is asked, and the p-values are adjusted for how many were asked
(Benjamini and Yekutieli, which holds under any dependence). A pattern counts only if it is then significant
(below ``SIGNIFICANT``) and large (``LARGE`` of the predicted time). Each is evidence for one class, in one
sentence with its numbers, and names what would settle it; it is no verdict on the cause, and no parameter is
moved to make it go away.
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
TOGETHER = 0.9  # Kendall's tau of context and time above which one may stand for the other

OMISSION = "model_omission"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """``kind``: context | small_batch | jump. ``batch`` is the group it was seen in, None for all.

    ``effect`` is a share of the predicted time over the range seen; below zero the steps are faster.
    ``p_value`` is adjusted for all the questions that were asked of the same steps.
    """

    kind: str
    batch: int | None
    p_value: float
    effect: float
    supports: str
    sentence: str
    verification: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """One question's answer before adjustment; ``holds`` says whether size and direction fit the pattern."""

    kind: str
    batch: int | None
    p_value: float
    effect: float
    holds: bool
    words: str
    verification: str


def patterns(residuals: Sequence[StepResidual]) -> list[Pattern]:
    """All patterns that hold in these steps."""
    groups: dict[int, list[StepResidual]] = {}
    for residual in residuals:
        groups.setdefault(residual.batch, []).append(residual)
    asked = [_growth_with_context(batch, group) for batch, group in sorted(groups.items())]
    asked.append(_growth_at_small_batch(residuals))
    asked += [_jump(groups[small], groups[large]) for small, large in pairwise(sorted(groups))]
    answers = [answer for answer in asked if answer is not None]
    if not answers:
        return []
    adjusted = _tests().false_discovery_control([a.p_value for a in answers], method="by")
    found = [
        _pattern(answer, float(p_value), of=len(answers))
        for answer, p_value in zip(answers, adjusted, strict=True)
        if answer.holds and p_value < SIGNIFICANT
    ]
    falls = any(
        pattern.kind == "small_batch" for pattern in found
    )  # its own steps down are no jumps
    return [p for p in found if not (falls and p.kind == "jump" and p.effect < 0)]


def _pattern(answer: _Answer, p_value: float, *, of: int) -> Pattern:
    tests = "1 test" if of == 1 else f"adjusted for {of} tests"
    return Pattern(
        kind=answer.kind,
        batch=answer.batch,
        p_value=p_value,
        effect=answer.effect,
        supports=OMISSION,
        sentence=f"{answer.words}, p {p_value:.1g} {tests})",
        verification=answer.verification,
    )


def _tests() -> ModuleType:
    """Loaded at the first test: it takes a second, and most readings have too few steps for one."""
    return importlib.import_module("scipy.stats")


def _growth_with_context(batch: int, group: Sequence[StepResidual]) -> _Answer | None:
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
    with_time = abs(float(_tests().kendalltau(stored, [r.number for r in group]).statistic))
    confounded = (
        "; context and time moved together here, so a second request of another length must show it too"
        if with_time > TOGETHER
        else ""
    )
    return _Answer(
        kind="context",
        batch=batch,
        p_value=float(p_value),
        effect=effect,
        holds=tau * effect > 0 and abs(effect) > LARGE,
        words=(
            f"residual {'grows' if effect > 0 else 'falls'} with context at batch {batch}: "
            f"{slope * 1e6:+.2f} us a stored token beyond the model (Kendall tau {tau:.2f}, n {len(group)}"
        ),
        verification="measure reads and copies of stored state at these contexts apart "
        f"(assay device measure){confounded}",
    )


def _growth_at_small_batch(residuals: Sequence[StepResidual]) -> _Answer | None:
    """Relative residual against batch: falling means a fixed cost that the model counts too low."""
    batches = [r.batch for r in residuals]
    if len(residuals) < FEWEST_STEPS or len(set(batches)) < 2:
        return None
    relative = [r.relative for r in residuals]
    tau, p_value = _tests().kendalltau(batches, relative)
    small = median(r.relative for r in residuals if r.batch == min(batches))
    large = median(r.relative for r in residuals if r.batch == max(batches))
    return _Answer(
        kind="small_batch",
        batch=None,
        p_value=float(p_value),
        effect=small - large,
        holds=bool(tau < 0) and small - large > LARGE and small > LARGE,
        words=(
            f"relative residual is {small:+.0%} at batch {min(batches)} and {large:+.0%} at batch "
            f"{max(batches)}: a fixed cost (Kendall tau {tau:.2f}, n {len(residuals)}"
        ),
        verification="a trace of one small step: launches and the engine's own code between them; or a fit "
        "of the fixed cost on other cells (assay calibrate)",
    )


def _jump(before: Sequence[StepResidual], after: Sequence[StepResidual]) -> _Answer | None:
    """Relative residual from one batch to the next larger one: another kernel, padding, a fallback."""
    if len(before) < FEWEST_PER_GROUP or len(after) < FEWEST_PER_GROUP:
        return None
    one, two = [r.relative for r in before], [r.relative for r in after]
    p_value = float(_tests().mannwhitneyu(two, one, alternative="two-sided").pvalue)
    effect = median(two) - median(one)
    rows = after[0].batch
    return _Answer(
        kind="jump",
        batch=rows,
        p_value=p_value,
        effect=effect,
        holds=abs(effect) > LARGE,
        words=(
            f"relative residual jumps by {effect:+.0%} from batch {before[0].batch} to {rows} "
            f"(Mann-Whitney, n {len(one)} and {len(two)}"
        ),
        verification=f"a matrix pass measured at {rows} rows, and the kernels in a trace at both batches",
    )
