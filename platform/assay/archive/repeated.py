"""What a sealed bundle holds for a comparison with its repetition: outputs by request, and the setting."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from assay.analysis.repetition.comparison import Setting
from assay.analysis.repetition.output_ids import Output, output_of
from assay.archive.readers import Bundle
from runners.protocol import layout
from runners.protocol.events import Phase, WireKind


def outputs(bundle: Bundle) -> dict[str, Output | None]:
    """By attempt of the measured phase; None for one whose reply did not end as its framing said.

    Those that the client cancelled on purpose are left out: where it cut them is a matter of time.
    """
    ended = _ended(bundle.folder)
    found: dict[str, Output | None] = dict.fromkeys(ended)
    for file in bundle.wire_files():
        for attempt, pieces in _replies(file):
            if ended.get(attempt):
                found[attempt] = output_of(pieces)
    return found


def setting(bundle: Bundle) -> Setting:
    host = bundle.document(layout.HOST) or {}
    fingerprint = host.get("fingerprint")
    device = ((bundle.document(layout.SPEC) or {}).get("device") or {}).get("name")
    return Setting(
        spec_digest=bundle.header.get("spec_digest") or None,
        plan_digest=bundle.header.get("plan_digest") or None,
        hardware=f"{fingerprint} {device}" if fingerprint else None,
        engine=_engine(bundle.document(layout.IDENTITY) or {}),
    )


def _engine(identity: dict[str, Any]) -> str | None:
    item = next((i for i in identity.get("run", []) if i["item"] == "engine_version"), None)
    ran = item["ran"] if item else None
    if not isinstance(ran, dict) or not ran.get("answered"):
        return None
    return " ".join(str(ran[name]) for name in ("answered", "build") if ran.get(name))


def _ended(folder: Path) -> dict[str, bool]:
    if not (folder / layout.ATTEMPTS).is_file():
        return {}
    table = pq.read_table(folder / layout.ATTEMPTS, columns=["attempt_id", "phase", "end"])
    return {
        row["attempt_id"]: row["end"] == WireKind.closed
        for row in table.to_pylist()
        if row["phase"] == Phase.measure and row["end"] != WireKind.cancel
    }


def _replies(file: Path) -> Iterator[tuple[str, list[bytes]]]:
    """Attempts of a wire file with their reads in order of time; a reply may be in one file alone."""
    table = pq.read_table(file, columns=["attempt_id", "t_ns", "data"])
    table = table.sort_by([("attempt_id", "ascending"), ("t_ns", "ascending")])
    name, pieces = "", list[bytes]()
    for row in table.to_pylist():
        if row["attempt_id"] != name and pieces:
            yield name, pieces
            pieces = []
        name = row["attempt_id"]
        pieces.append(row["data"])
    if pieces:
        yield name, pieces
