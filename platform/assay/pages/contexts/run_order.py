"""The runs that a search keeps, as ids in the asked order, read from indexes: ten thousand stay cheap."""

from uuid import UUID

from django.db.models import F, QuerySet
from django.utils import timezone

from assay.accounts.access import Access
from assay.ledger.models import Run, ShownMeasure
from assay.ledger.run_query.conditions import on_runs
from assay.ledger.run_query.values import metric
from assay.ledger.visibility import visible_runs
from assay.pages.contexts.search import Search, me

SORTS = {
    "created": "created_at",
    "state": "state",
    "artifact": "artifact_name",
    "engine": "engine_key",
    "study": "study__name",
}
DEFAULT_SORT = "-created"


def kept_runs(wanted: Search, access: Access) -> QuerySet[Run]:
    """Runs that the search keeps, in no order."""
    kept = on_runs(wanted.query, now=timezone.now(), me=me(access))
    return visible_runs(access).filter(kept).order_by()


def ordered_ids(wanted: Search, kept: QuerySet[Run], first: int, last: int) -> list[UUID]:
    """Ids ``first`` to ``last`` of the asked order; a run without the number sorted by comes last."""
    sort = wanted.sort or DEFAULT_SORT
    key = sort.removeprefix("-")
    if key not in SORTS:
        return _by_number(sort, kept, first, last)
    if sort == DEFAULT_SORT:
        ordered = kept.order_by("-created_at", "-id")  # as the index has it
    else:
        column = F(SORTS[key])
        leading = column.desc() if sort.startswith("-") else column.asc()
        ordered = kept.order_by(leading, "-created_at", "-id")
    return list(ordered.values_list("id", flat=True)[first:last])


def _by_number(sort: str, kept: QuerySet[Run], first: int, last: int) -> list[UUID]:
    """Along the index of numbers, asking of each run only whether it is kept; then those without a number."""
    key = sort.removeprefix("-")
    rule, statistic = metric(key, key)
    numbers = ShownMeasure.objects.filter(rule=rule, statistic=statistic)
    known = numbers.filter(run__in=kept.values("id"))
    sign = "-" if sort.startswith("-") else ""
    ids = list(
        known.order_by(f"{sign}value", f"{sign}run").values_list("run_id", flat=True)[first:last]
    )
    if len(ids) == last - first:
        return ids
    before = 0 if ids else max(0, first - known.count())
    without = kept.exclude(id__in=numbers.values("run_id")).order_by("-created_at", "-id")
    rest = without.values_list("id", flat=True)[before : before + last - first - len(ids)]
    return [*ids, *rest]
