"""A sealed bundle that no ledger knows: what `assay load` left, shown without a database."""

import json
from pathlib import Path

from assay.analysis.definition import DEFINITION_VERSION
from assay.archive import store
from assay.archive.paths import home_from_environment
from assay.archive.summary import summarise
from assay.execution.quick_looks import READING, Looked
from runners.protocol import layout
from runners.protocol.exit_codes import OF_STATE


def folder_of(text: str) -> Path | None:
    """The bundle folder that a path or a digest (its beginning) names, if there is exactly one."""
    path = Path(text)
    if text and (path / layout.MANIFEST_DIGEST).is_file():
        return path.resolve()
    found = store.matching(home_from_environment(), text.lower())
    return found[0] if len(found) == 1 else None


def looked_at(folder: Path) -> Looked:
    """The bundle as a quick look ended with it; without a reading of this version it says so."""
    summary = summarise(folder)
    path = home_from_environment().derived / summary.digest / DEFINITION_VERSION / READING
    reading = json.loads(path.read_bytes()) if path.is_file() else None
    unread = (
        "" if reading else f"not read by definition {DEFINITION_VERSION}: assay import {folder}"
    )
    return Looked(
        run_id=summary.run_id or "",
        state=summary.state.value,
        reason="; ".join(filter(None, (summary.reason, unread))),
        exit_code=OF_STATE.get(summary.state, 0),
        bundle=folder,
        digest=summary.digest,
        reading=reading,
    )


def spec_of(folder: Path) -> dict[str, object]:
    return dict(json.loads((folder / layout.SPEC).read_bytes()))
