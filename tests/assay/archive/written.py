"""A whole document written as the interpreter writes it: the run's own part, and tables for the rest."""

import json
from itertools import groupby
from pathlib import Path
from typing import Any

from assay.analysis.attempt_parts import AttemptParts
from assay.analysis.documents import InterpretationDocument, RunReading
from assay.archive.derived_rows import batches_of
from assay.archive.derived_schemas import TASKS
from assay.archive.derived_tables import AttemptTables, write_tasks
from assay.archive.stored_reading import INTERPRETATION, StoredReading


def write(folder: Path, document: Any) -> None:
    """Everything but events and iterations."""
    run = {name: value for name, value in document.items() if name in RunReading.__annotations__}
    (folder / INTERPRETATION).write_text(json.dumps(run), encoding="utf-8")
    with AttemptTables(folder) as tables:
        tables.write(batches_of([_parts(document, a) for a in document["attempts"]]))
        tables.finish(
            [list(own) for _, own in groupby(document["ledgers"]["task"], lambda r: r["subject"])]
        )
    write_tasks(folder / TASKS, document.get("tasks", []))


def read(folder: Path) -> InterpretationDocument:
    """The whole document again."""
    return StoredReading(folder).whole()


def _parts(document: Any, reading: Any) -> AttemptParts:
    name, ledgers = reading["attempt_id"], document["ledgers"]

    def own(rows: Any, key: str = "attempt_id") -> list[Any]:
        return [row for row in rows if row[key] == name]

    return AttemptParts(
        reading=reading,
        client=own(ledgers["client"], "subject"),
        server=own(ledgers["server"], "subject"),
        resource=own(ledgers["resource"], "subject"),
        lanes=own(document["lanes"]),
        ghost=next(iter(own(document["ghost_load"])), None),
        checks=own(document["cancel_checks"]),
    )
