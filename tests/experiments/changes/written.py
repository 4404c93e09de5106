"""A record file as somebody writes it, right but for what a test changes."""

from pathlib import Path
from typing import Any

import yaml

SOURCE: dict[str, Any] = {
    "id": "notes",
    "title": "release notes",
    "url": "https://example.org/v1/notes",
    "floating": False,
    "pinned_by": "the tag v1",
}
CHANGE: dict[str, Any] = {"subject": "flag", "names": ["--old"], "kind": "removed", "use": "--new"}
RECORD: dict[str, Any] = {
    "version": "1.0.0",
    "status": "GA",
    "released": {"first": "2026-01-01", "last": "2026-01-31"},
    "released_basis": "the index lists the month",
    "consulted": "2026-11-29",
    "body_verified": True,
    "verified_part": "all of it",
    "source": "notes",
    "label": "SOURCE_REGISTERED",
    "reading": "body",
    "scope": "versioned implementation",
    "content": "One flag went.",
    "changes": [CHANGE],
}


def write(
    folder: Path,
    record: dict[str, Any] | None = None,
    *,
    change: dict[str, Any] | None = None,
    source: dict[str, Any] | None = None,
) -> Path:
    """``abacus.yaml`` with one record; dates are written without quotes, as a person does."""
    whole = RECORD | {"changes": [CHANGE | (change or {})]} | (record or {})
    document = {
        "engine": "abacus",
        "product": "Abacus",
        "sources": [SOURCE | (source or {})],
        "records": [{k: v for k, v in whole.items() if v is not ...}],
    }
    text = yaml.safe_dump(document).replace("'2026-", "2026-")
    text = "\n".join(line.rstrip("'") if " 2026-" in line else line for line in text.splitlines())
    path = folder / "abacus.yaml"
    path.write_text(text, encoding="utf-8")
    return path
