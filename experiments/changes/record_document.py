"""A version record as plain values, for JSON."""

from dataclasses import asdict
from typing import Any

from experiments.changes.record import VersionRecord


def record_document(record: VersionRecord) -> dict[str, Any]:
    """Dates as ISO 8601 has them; a release time that was read as a span keeps both ends."""
    found = asdict(record)
    found["consulted"] = record.consulted.isoformat()
    if record.released is not None:
        found["released"] = {
            "first": record.released.first.isoformat(),
            "last": record.released.last.isoformat(),
        }
    return found
