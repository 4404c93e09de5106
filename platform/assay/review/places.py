"""Whether the place that an anchor names is there in a run's archive. Nobody can hang a thread on nothing."""

from collections.abc import Callable
from pathlib import Path

from django.conf import settings

from assay.analysis.metrics.catalogue import ALL_RULES
from assay.archive.paths import Home
from assay.archive.remote.fetching import bundle_folder
from assay.archive.stored_reading import StoredReading
from assay.ledger.models import Bundle, GapEntry, Interpretation, Measure, Residual, Run
from assay.ledger.queries import bundle_of, interpretation_of
from assay.review.anchors import CHARTS, Anchor, AnchorKind, joined_key
from experiments.errors import refuse
from runners.protocol import layout, manifest
from runners.protocol.documents import IDENTITY_ITEMS


def residual_key(quantity: str, conditions: dict[str, object]) -> str:
    said = ", ".join(f"{name}={conditions[name]}" for name in sorted(conditions))
    return joined_key(quantity, said)


def measure_key(rule: str, statistic: str, population: str) -> str:
    """``statistic`` is empty for a row that holds several."""
    return joined_key(rule, statistic, population)


def must_exist(run: Run, anchor: Anchor) -> None:
    """Raises Refusal for a place that this run does not have."""
    bundle = bundle_of(run)
    reading = interpretation_of(bundle) if bundle else None
    if anchor.kind is AnchorKind.run or (
        bundle and reading and _IS_THERE[anchor.kind](anchor.key, bundle, reading)
    ):
        return
    raise refuse(
        field=anchor.kind.value,
        seen=anchor.key,
        allowed=f"a {anchor.kind.value.replace('_', ' ')} of this run's reading",
        remedy="Follow a discuss link of the run's page.",
    )


def _measure(key: str, _bundle: Bundle, reading: Interpretation) -> bool:
    rows = Measure.objects.filter(interpretation=reading).values_list(
        "rule", "statistic", "population"
    )
    return any(key in (measure_key(r, s, p), measure_key(r, "", p)) for r, s, p in rows)


def _residual(key: str, _bundle: Bundle, reading: Interpretation) -> bool:
    rows = Residual.objects.filter(interpretation=reading).values_list("quantity", "conditions")
    return any(residual_key(quantity, conditions) == key for quantity, conditions in rows)


def _gap(key: str, _bundle: Bundle, reading: Interpretation) -> bool:
    return GapEntry.objects.filter(interpretation=reading, what=key).exists()


def _ledger_row(key: str, bundle: Bundle, reading: Interpretation) -> bool:
    home = Home(Path(settings.HOME))
    stored = StoredReading(home.derived / bundle.digest / reading.definition_version)
    return key in stored.attempt_ids()


def _file(key: str, bundle: Bundle, _reading: Interpretation) -> bool:
    folder = bundle_folder(Home(Path(settings.HOME)), bundle.digest)
    return key == layout.MANIFEST or key in manifest.bundle_files(folder)


_IS_THERE: dict[AnchorKind, Callable[[str, Bundle, Interpretation], bool]] = {
    AnchorKind.statement: lambda _key, _bundle, _reading: False,  # of a review, never of a run
    AnchorKind.measure: _measure,
    AnchorKind.residual: _residual,
    AnchorKind.gap: _gap,
    AnchorKind.ledger_row: _ledger_row,
    AnchorKind.file: _file,
    AnchorKind.chart: lambda key, _bundle, _reading: key in CHARTS,
    AnchorKind.cell: lambda key, _bundle, _reading: key.removeprefix("identity/") in IDENTITY_ITEMS,
    AnchorKind.rule: lambda key, _bundle, _reading: key in ALL_RULES,
}
