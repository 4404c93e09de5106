"""The gaps that most of the last runs have open: what is not known of the results that people look at now."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, Max, Min

from assay.accounts.access import Access
from assay.ledger.models import GapEntry
from assay.ledger.shown import newest_interpretations, shown_bundles
from assay.ledger.visibility import visible_runs

LAST_RUNS = 50
SHOWN = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentGap:
    what: str
    affects: str
    needed: str
    runs: int
    newest: UUID  # a run that has it, to look at


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentGaps:
    gaps: Sequence[RecentGap]
    more: int
    runs: int  # that were looked at


def recent_gaps(access: Access) -> RecentGaps:
    """Over the newest reading of each of the last runs that ended. Five queries."""
    runs = visible_runs(access).filter(ended_at__isnull=False).order_by("-ended_at", "-id")
    ended = list(runs.only("id", "accepted_execution")[:LAST_RUNS])
    bundles = shown_bundles(ended)
    readings = newest_interpretations(bundle.digest for bundle in bundles.values())
    counted = (
        GapEntry.objects.filter(interpretation__in=[r.pk for r in readings.values()], state="open")
        .order_by()
        .values("what")
        .annotate(
            runs=Count("interpretation", distinct=True),
            newest=Max("interpretation"),
            affects=Min("affects"),
            needed=Min("needed"),
        )
    )
    ordered = sorted(counted, key=lambda gap: (-gap["runs"], gap["what"]))
    run_of = {readings[b.digest].pk: run for run, b in bundles.items() if b.digest in readings}
    return RecentGaps(
        gaps=[
            RecentGap(
                what=gap["what"],
                affects=gap["affects"],
                needed=gap["needed"],
                runs=gap["runs"],
                newest=run_of[gap["newest"]],
            )
            for gap in ordered[:SHOWN]
        ],
        more=max(0, len(ordered) - SHOWN),
        runs=len(readings),
    )
