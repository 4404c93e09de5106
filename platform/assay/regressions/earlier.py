"""A change is investigated once: what an earlier start off the same level settles for those behind it.

While the fresh starts of the first suspect are under way, later suspects ask for none of their own: a
schedule that fires faster than its starts end would never catch up. What was shown then holds for every later
start that lies off on the same side, until somebody accepts the level or says that the finding is fixed.
"""

from collections.abc import Collection
from dataclasses import replace

from django.db.models import Q

from assay.analysis.regression.answers import Answer
from assay.analysis.regression.check import Check
from assay.regressions.baselines import Known
from assay.regressions.findings import STILL_OPEN
from assay.regressions.models import CheckRecord, Watch

Level = tuple[int, int | None]  # keys of a watch and of the baseline that it is held against
WAITS = "; the fresh starts of an earlier run come first"


def level_of(watch: Watch, seen: Known | None) -> Level:
    return watch.pk, seen.record.pk if seen is not None else None


def settled(watch: Watch, found: Check, seen: Known | None, under_way: Collection[Level]) -> Check:
    """The check of a suspect in the light of earlier ones; any other check as it is."""
    if found.answer is not Answer.suspected or seen is None or found.suspicion is None:
        return found
    if level_of(watch, seen) in under_way:
        return replace(found, reason=found.reason + WAITS, step=None)
    change = found.suspicion.change
    shown = _shown(watch, seen, change)
    if shown is None:
        return found
    return replace(
        found,
        answer=Answer(shown.answer),
        reason=f"{change:+.1%}, as the fresh starts of run {str(shown.run_id)[-12:]} showed",
        confirmation=None,
        step=None,
    )


def _shown(watch: Watch, seen: Known, change: float) -> CheckRecord | None:
    """Where a change to this side of this baseline was shown first, if nobody has closed it."""
    not_closed = Q(finding=None) | Q(finding__state__in=STILL_OPEN)
    same_side = Q(change__gt=0) if change > 0 else Q(change__lt=0)
    changed = watch.checks.filter(
        not_closed,
        same_side,
        baseline=seen.record,
        answer__in=[Answer.confirmed, Answer.improved],
    )
    return changed.order_by("pk").first()
