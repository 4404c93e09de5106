"""Fill the index from an interpretation. The numbers themselves stay in ``derived/``; rows point at them."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from assay.analysis.documents import LEDGERS
from assay.ledger.models import (
    Bundle,
    GapEntry,
    Interpretation,
    LedgerCount,
    Measure,
    MeasureKind,
    Residual,
)
from assay.ledger.shown import refresh

CHUNK = 500  # rows per INSERT: SQLite is one writer, so that others get their turn


@transaction.atomic
def index_interpretation(
    bundle: Bundle, document: Mapping[str, Any], *, digest: str
) -> Interpretation:
    """One row per aggregate, ledger state, gap and residual. Safe to call twice: the first one stays.

    ``digest`` is the sha256 of the interpretation's canonical bytes.
    """
    interpretation, new = Interpretation.objects.get_or_create(
        bundle=bundle,
        definition_version=document["definition_version"],
        defaults={"digest": digest},
    )
    if not new:
        return interpretation
    Measure.objects.bulk_create(
        [_measure(interpretation, a) for a in document["aggregates"]], batch_size=CHUNK
    )
    LedgerCount.objects.bulk_create(
        [
            LedgerCount(interpretation=interpretation, ledger=ledger, state=state, count=count)
            for ledger, counts in sorted_counts(document).items()
            for state, count in counts.items()
        ],
        batch_size=CHUNK,
    )
    GapEntry.objects.bulk_create(
        [
            GapEntry(
                interpretation=interpretation,
                what=g["what"],
                affects=g["affects"],
                needed=g["needed"],
                state=g["state"],
            )
            for g in document["gaps"]
        ],
        batch_size=CHUNK,
    )
    Residual.objects.bulk_create(
        [_residual(interpretation, r) for r in document["residuals"]], batch_size=CHUNK
    )
    if bundle.run_id is not None:
        refresh([bundle.run_id])
    return interpretation


def sorted_counts(document: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """How many subjects of each ledger ended in which state."""
    return {ledger: dict(sorted(document["ledger_counts"][ledger].items())) for ledger in LEDGERS}


def _measure(interpretation: Interpretation, aggregate: Mapping[str, Any]) -> Measure:
    value, interval = aggregate.get("value"), aggregate.get("interval") or [None, None]
    return Measure(
        interpretation=interpretation,
        rule=aggregate["rule"],
        statistic=aggregate["statistic"],
        value=value,
        kind=_kind(value, aggregate.get("special")),
        unit=aggregate["unit"],
        low=interval[0],
        high=interval[1],
        interval_kind=aggregate.get("interval_kind") or "",
        n=aggregate["n"],
        of=aggregate["of"],
        population=aggregate["population"],
        perspective=aggregate["perspective"],
        limited_by=aggregate["limited_by"],
        absent=aggregate.get("absent") or "",
    )


def _kind(value: float | None, special: str | None) -> MeasureKind:
    if special:
        return MeasureKind(special)
    return MeasureKind.missing if value is None else MeasureKind.finite


def _residual(interpretation: Interpretation, row: Mapping[str, Any]) -> Residual:
    low, high = row.get("range") or [None, None]
    return Residual(
        interpretation=interpretation,
        quantity=row["quantity"],
        conditions=row.get("conditions") or {},
        predicted=row["predicted"],
        low=low,
        high=high,
        bound=row["bound"],
        measured=row["measured"],
        unit=row["unit"],
        layer=row["layer"],
        relative=row["relative"],
        klass=row["class"] or "",  # none where nothing is to be explained
        validity=row["validity"],
        reason=row.get("reason") or "",
    )
