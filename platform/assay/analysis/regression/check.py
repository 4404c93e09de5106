"""One metric of one scheduled start against its baseline: an answer from the closed list, and why."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.regression.answers import Answer, Better, worded
from assay.analysis.regression.baseline import FEWEST_STARTS, Baseline
from assay.analysis.regression.confirmation import Confirmation, Verdict
from assay.analysis.regression.investigation import Fresh, Investigation, Step
from assay.analysis.regression.series import Difference, Start
from assay.analysis.regression.suspicion import Suspicion, suspicion


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A metric under watch: the rule and statistic of an aggregate, and which way is better."""

    metric: str
    better: Better


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """``step`` says which fresh starts an open suspicion still needs; null where there is none."""

    watched: Watched
    answer: Answer
    reason: str
    suspicion: Suspicion | None = None
    confirmation: Confirmation | None = None
    step: Step | None = None


def check(
    watched: Watched,
    newest: Start | None,
    *,
    baseline: Baseline | None,
    since: Sequence[float],
    differences: Sequence[Difference] = (),
    fresh: Fresh | None = None,
    lacking: str = f"fewer than {FEWEST_STARTS} fresh starts make no baseline",
) -> Check:
    """``since`` are the metric's values after the baseline, the newest start's last, where it has one.

    ``differences`` are those of the newest start from the baseline's identity; ``fresh`` what was started
    because of a suspicion; ``lacking`` why there is no baseline, where there is none.
    """
    refused = _without_numbers(watched, newest, differences)
    if refused is not None:
        return refused
    if baseline is None:
        return Check(watched=watched, answer=Answer.insufficient, reason=lacking)
    suspect = suspicion(baseline, since)
    if suspect is None:
        return Check(watched=watched, answer=Answer.ok, reason="within the baseline's spread")
    step = Investigation(baseline=baseline, suspect=since[-1], fresh=fresh or Fresh()).step()
    return _of_suspicion(watched, suspect, step)


def _without_numbers(
    watched: Watched, newest: Start | None, differences: Sequence[Difference]
) -> Check | None:
    """The answers that are never green: there is nothing, or nothing that counts, to look at."""
    answer, reason = None, ""
    if newest is None:
        answer, reason = Answer.missing, "no run answers this slot"
    elif not newest.ended:
        answer, reason = Answer.failed, f"run {newest.run} ended without a result"
    elif differences:
        named = ", ".join(d.field for d in differences)
        answer, reason = Answer.not_comparable, f"run {newest.run} differs in {named}"
    elif newest.client_limited:
        answer, reason = Answer.client_limited, f"the load client limited run {newest.run}"
    elif newest.invalid:
        answer, reason = Answer.invalid, newest.invalid
    elif newest.values.get(watched.metric) is None:
        answer, reason = Answer.missing, f"run {newest.run} has no {watched.metric}"
    return Check(watched=watched, answer=answer, reason=reason) if answer else None


def _of_suspicion(watched: Watched, suspect: Suspicion, step: Step) -> Check:
    seen = step.confirmation
    verdict = seen.verdict if seen is not None else Verdict.open
    if verdict is Verdict.changed and seen is not None:
        answer = worded(watched.better, seen.change)
        reason = f"{seen.change:+.1%}, shown by {seen.starts} fresh starts"
    elif verdict is Verdict.unchanged and seen is not None:
        answer, reason = Answer.ok, f"{seen.starts} fresh starts did not show the change again"
    else:
        answer = Answer.suspected
        far = f"{abs(suspect.beyond):.1f} {_UNITS[suspect.ground]}"
        reason = f"{suspect.change:+.1%}, {far} from the baseline"
    return Check(
        watched=watched,
        answer=answer,
        reason=reason,
        suspicion=suspect,
        confirmation=seen,
        step=step,
    )


_UNITS = {"start": "scales", "mean": "standard errors"}
