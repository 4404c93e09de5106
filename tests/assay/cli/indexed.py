"""A small run whose bundle is interpreted and indexed, so that a verb can be asked about it."""

import json
from pathlib import Path
from typing import Any

from assay.archive.interpretation import interpret
from assay.archive.paths import Home
from assay.ledger.ids import uuid7
from assay.ledger.indexing import index_interpretation
from assay.ledger.models import Bundle, Run
from tests.assay.archive import interpretable
from tests.assay.specs import queued_study


def indexed_run(home: Home, tmp_path: Path, **changes: Any) -> Run:
    """``changes`` replace files of ``interpretable``'s bundle."""
    run: Run = queued_study().runs.get()
    digest = interpretable.build(tmp_path / "bundle", **changes)
    path = interpret(tmp_path / "bundle", home.derived)
    row = Bundle.objects.create(
        digest=digest, run=run, execution_id=uuid7(), state="sealed", bytes=1, files=1, level="E2",
        identity_complete=False, sealed_at=run.created_at,
    )  # fmt: skip
    run.accepted_execution = row.execution_id
    run.save()
    index_interpretation(row, json.loads(path.read_bytes()), digest="d" * 64)
    return run
