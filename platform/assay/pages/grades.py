"""The grade of a run's client-side figures, for lists: read once a process from each reading's document."""

import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from assay.analysis.documents import GradeDocument
from assay.archive.stored_reading import INTERPRETATION
from assay.ledger.models import Interpretation
from assay.pages.reading import reading_of


def grade_of(interpretation: Interpretation) -> GradeDocument | None:
    """None where the reading is not on this machine, or is from before there were grades."""
    path = reading_of(interpretation).folder / INTERPRETATION
    return _read(path) if path.is_file() else None


def grades_of(interpretations: Iterable[Interpretation]) -> dict[int, GradeDocument | None]:
    """By the interpretation's key; no query."""
    return {one.pk: grade_of(one) for one in interpretations}


@lru_cache(maxsize=20_000)
def _read(path: Path) -> GradeDocument | None:
    """A reading never changes, so neither does its grade."""
    found = json.loads(path.read_bytes()).get("grade")
    return GradeDocument(letter=found["letter"], reasons=found["reasons"]) if found else None
