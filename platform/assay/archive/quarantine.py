"""What cannot be trusted is moved aside whole, with a file that says why; nothing is dropped."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.archive.paths import Home

REASON_FILE = "quarantine.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What came lies in ``folder/bundle``; ``folder/quarantine.json`` says why it is here."""

    folder: Path
    reason: str
    problems: tuple[str, ...]


def quarantine(
    home: Home, source: Path, *, name: str, reason: str, problems: Sequence[str] = ()
) -> Kept:
    """Move ``source`` (a folder or a file) to ``quarantine/<name>/bundle``.

    ``name`` is an execution id or another unique id; a second arrival under the same name gets a number.
    """
    target = _free(home.quarantine / name)
    target.mkdir(parents=True)
    shutil.move(source, target / "bundle")
    document = {"reason": reason, "problems": list(problems), "came_from": str(source)}
    (target / REASON_FILE).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return Kept(folder=target, reason=reason, problems=tuple(problems))


def _free(wanted: Path) -> Path:
    candidate, number = wanted, 2
    while candidate.exists():
        candidate = wanted.with_name(f"{wanted.name}-{number}")
        number += 1
    return candidate
