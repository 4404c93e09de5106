"""The newest interpretation of each run's bundle, with what a row of a table needs of it.

A run shows the bundle of its accepted execution; without one (lost, aborted early) the newest bundle.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count

from assay.ledger.models import Bundle, GapEntry, Interpretation, LedgerCount, Measure, Run
from assay.pages.contexts.measures import HEADLINES, preferred


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


def shown_bundles(runs: Sequence[Run]) -> dict[UUID, Bundle]:
    """The bundle that each run shows, in one query."""
    accepted = {run.id: run.accepted_execution for run in runs}
    chosen: dict[UUID, Bundle] = {}
    bundles = Bundle.objects.filter(run__in=list(accepted)).order_by("sealed_at")
    for bundle in bundles:
        run_id = bundle.run_id
        if run_id is None:
            continue
        held = chosen.get(run_id)
        if held is None or held.execution_id != accepted[run_id]:
            chosen[run_id] = bundle
    return chosen


def newest_readings(runs: Sequence[Run]) -> dict[UUID, Newest]:
    """Per run id; a run without an interpreted bundle has no entry. Five queries at most."""
    bundles = shown_bundles(runs)
    readings = _newest_interpretations(bundle.digest for bundle in bundles.values())
    ids = [reading.pk for reading in readings.values()]
    measures: dict[int, list[Measure]] = defaultdict(list)
    wanted = Measure.objects.filter(
        interpretation__in=ids, rule__in=[headline.rule for headline in HEADLINES]
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


def _newest_interpretations(digests: Iterable[str]) -> dict[str, Interpretation]:
    found = Interpretation.objects.filter(bundle__in=list(digests)).order_by("created_at", "pk")
    return {reading.bundle_id: reading for reading in found}
