"""What the database holds of a run: measures, residuals, gaps, ledger counts."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest

from assay.ledger.models import GapEntry, LedgerCount, Measure, Residual
from assay.pages.contexts.head import RunHead
from assay.pages.tables.table import Rows, Table, Tables

MEASURES = (
    *("rule", "statistic", "value", "kind", "unit", "low", "high", "interval_kind", "n", "of"),
    *("population", "perspective", "limited_by", "absent"),
)
RESIDUALS = (
    *("quantity", "conditions", "bound", "predicted", "low", "high", "measured", "unit"),
    *("relative", "klass", "layer", "validity", "reason"),
)
GAPS = ("what", "affects", "needed", "state")
COUNTS = ("ledger", "state", "count")


def _stored(model: Any, columns: tuple[str, ...]) -> Callable[[RunHead, HttpRequest], Rows]:
    def rows(head: RunHead, _request: HttpRequest) -> Rows:
        found = model.objects.filter(interpretation=head.interpretation).order_by("pk")
        yield from found.values_list(*columns).iterator(chunk_size=2000)

    return rows


MEASURE_TABLE = Table(columns=MEASURES, rows=_stored(Measure, MEASURES))
RESIDUAL_TABLE = Table(columns=RESIDUALS, rows=_stored(Residual, RESIDUALS))
GAP_TABLE = Table(columns=GAPS, rows=_stored(GapEntry, GAPS))
COUNT_TABLE = Table(columns=COUNTS, rows=_stored(LedgerCount, COUNTS))

OVERVIEW: Tables = {"measures": MEASURE_TABLE, "ledgers": COUNT_TABLE, "gaps": GAP_TABLE}
