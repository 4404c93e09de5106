"""The numbers that a run shows in lists, one a rule and statistic, kept beside the readings they come from.

A run may have several bundles, readings and populations; a list of ten thousand runs cannot choose among them
for every row it looks at. So the choice is made once, when it may change, and lists filter by the chosen.
Pages still print the measure itself.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction

from assay.ledger.models import Bundle, Interpretation, Measure, MeasureKind, Run, ShownMeasure

# Of several populations of one rule the declared load is the one that a headline means.
HEADLINE_POPULATION = "load"
CHUNK = 500


def shown_bundles(runs: Iterable[Run]) -> dict[UUID, Bundle]:
    """The bundle that each run shows, in one query: of its accepted execution, else the newest."""
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


def newest_interpretations(digests: Iterable[str]) -> dict[str, Interpretation]:
    """The newest reading of each bundle, by its digest."""
    found = Interpretation.objects.filter(bundle__in=list(digests)).order_by("created_at", "pk")
    return {reading.bundle_id: reading for reading in found}


def preferred(measures: Iterable[Measure]) -> dict[tuple[str, str], Measure]:
    """One measure a rule and statistic: that of the load segment, else the first one stored."""
    chosen: dict[tuple[str, str], Measure] = {}
    for measure in measures:
        key = measure.rule, measure.statistic
        if key not in chosen or (
            HEADLINE_POPULATION in measure.population.split()
            and HEADLINE_POPULATION not in chosen[key].population.split()
        ):
            chosen[key] = measure
    return chosen


@transaction.atomic
def refresh(run_ids: Sequence[UUID]) -> None:
    """Draw anew what these runs show, where it changed. To be called after a reading or an acceptance."""
    runs = Run.objects.filter(id__in=run_ids).only("id", "accepted_execution")
    bundles = shown_bundles(runs)
    readings = newest_interpretations(bundle.digest for bundle in bundles.values())
    wanted = {r: readings[b.digest].pk for r, b in bundles.items() if b.digest in readings}
    held = dict(
        ShownMeasure.objects.filter(run__in=list(wanted)).values_list("run_id", "interpretation_id")
    )
    changed = {run: reading for run, reading in wanted.items() if held.get(run) != reading}
    if not changed:
        return
    ShownMeasure.objects.filter(run__in=list(changed)).delete()
    measures: dict[Any, list[Measure]] = defaultdict(list)
    for measure in Measure.objects.filter(interpretation__in=changed.values()).order_by("pk"):
        measures[measure.interpretation_id].append(measure)
    rows = [
        ShownMeasure(
            run_id=run,
            interpretation_id=reading,
            rule=measure.rule,
            statistic=measure.statistic,
            value=measure.value,
        )
        for run, reading in changed.items()
        for measure in preferred(measures[reading]).values()
        if measure.kind == MeasureKind.finite and measure.value is not None
    ]
    ShownMeasure.objects.bulk_create(rows, batch_size=CHUNK)
