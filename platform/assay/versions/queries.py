"""Reads of what runs have shown of version records."""

from collections.abc import Iterable

from assay.versions.models import Confirmation


def shown_by(records: Iterable[str]) -> dict[tuple[str, str], Confirmation]:
    """(record, statement) -> the first run that showed it, for these records."""
    found = Confirmation.objects.filter(record__in=list(records)).order_by("-created_at", "-pk")
    return {(row.record, row.statement): row for row in found}
