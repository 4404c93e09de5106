"""Reads of what runs have shown of version records."""

from collections.abc import Iterable

from django.db.models import QuerySet

from assay.ledger.models import Run
from assay.versions.models import Confirmation


def shown_by(
    records: Iterable[str], *, runs: QuerySet[Run] | None = None
) -> dict[tuple[str, str], Confirmation]:
    """(record, statement) -> the first run (of ``runs``, if given) that showed it, for these records."""
    found = Confirmation.objects.filter(record__in=list(records)).order_by("-created_at", "-pk")
    if runs is not None:
        found = found.filter(run__in=runs)
    return {(row.record, row.statement): row for row in found}
