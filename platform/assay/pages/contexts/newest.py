"""The newest interpretation of each run's bundle, with what a row of a table needs of it.

A run shows the bundle of its accepted execution; without one (lost, aborted early) the newest bundle.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count

from assay.ledger.models import Bundle, GapEntry, Interpretation, LedgerCount, Measure, Run
from assay.ledger.shown import newest_interpretations, preferred, shown_bundles
from assay.pages.contexts.measures import Headline


@dataclass(frozen=True, slots=True, kw_only=True)
class Newest:
    bundle: Bundle
    interpretation: Interpretation
    measures: dict[tuple[str, str], Measure]
    counts: dict[str, dict[str, int]]
    gaps: int

    @property
    def level(self) -> str:
        return self.bundle.level

    @property
    def identity_complete(self) -> bool:
        return self.bundle.identity_complete


def newest_readings(runs: Sequence[Run], headlines: Sequence[Headline]) -> dict[UUID, Newest]:
    """Per run id; a run without an interpreted bundle has no entry. Five queries at most."""
    bundles = shown_bundles(runs)
    readings = newest_interpretations(bundle.digest for bundle in bundles.values())
    ids = [reading.pk for reading in readings.values()]
    measures: dict[int, list[Measure]] = defaultdict(list)
    wanted = Measure.objects.filter(
        interpretation__in=ids,
        rule__in={headline.rule for headline in headlines},
        statistic__in={headline.statistic for headline in headlines},
    )
    for measure in wanted.order_by("pk"):
        measures[measure.interpretation_id].append(measure)
    counts: dict[int, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    for count in LedgerCount.objects.filter(interpretation__in=ids):
        counts[count.interpretation_id][count.ledger][count.state] = count.count
    gaps = dict(
        GapEntry.objects.filter(interpretation__in=ids, state="open")
        .values_list("interpretation")
        .annotate(Count("id"))
    )
    return {
        run_id: Newest(
            bundle=bundle,
            interpretation=readings[bundle.digest],
            measures=preferred(measures[readings[bundle.digest].pk]),
            counts=counts[readings[bundle.digest].pk],
            gaps=gaps.get(readings[bundle.digest].pk, 0),
        )
        for run_id, bundle in bundles.items()
        if bundle.digest in readings
    }
