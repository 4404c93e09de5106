"""Which version records lie between two versions of an engine: what might explain a change."""

from experiments.changes import catalogue
from experiments.errors import Refusal


def records_between(engine: str, older: str, newer: str) -> list[str]:
    """Ids of records after ``older`` up to ``newer``; empty where these are equal or have no order."""
    if older == newer:
        return []
    try:
        return [record.id for record in catalogue.between(engine, older, newer)]
    except Refusal:
        return []
