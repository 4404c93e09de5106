"""Small sealed bundles, made with the protocol's own manifest."""

import json
import zipfile
from pathlib import Path
from typing import Any

from runners.protocol import layout, manifest

RUN_ID = "019a0000-0000-7000-8000-000000000001"
EXECUTION_ID = "019a0000-0000-7000-8000-000000000002"
SPEC: dict[str, Any] = {
    "artifact": {"name": "small-model"},
    "engine": {"key": "torch", "version": "1"},
    "device": {"name": "this machine", "kind": "cpu"},
}


def sealed_bundle(folder: Path, **header: Any) -> str:
    """A bundle with a file of each withholdable class and of some others. Returns its digest."""
    (folder / layout.WIRE_FOLDER).mkdir(parents=True)
    (folder / layout.TRACE_FOLDER).mkdir()
    (folder / layout.SPEC).write_bytes(manifest.canonical(SPEC))
    (folder / layout.SESSION).write_text('{"event": "sealed"}\n', encoding="utf-8")
    (folder / layout.PROMPTS).write_bytes(b"PAR1 the prompt PAR1")
    (folder / layout.WIRE_FOLDER / "0-0.parquet").write_bytes(b"PAR1 the answer PAR1")
    (folder / layout.TRACE_FOLDER / "trace.json").write_text(json.dumps({"ops": ["mm"] * 50}))
    facts = {
        "run_id": RUN_ID,
        "execution_id": EXECUTION_ID,
        "repetition": 0,
        "study": "smoke",
        "state": "sealed",
        "spec_digest": "a" * 64,
        "plan_digest": "b" * 64,
        "level": "E1",
        "sealed_at": "2026-11-29T12:00:00Z",
    }
    return manifest.build(folder, header={**facts, **header})


def packed_bytes_of(exported: Path, name: str) -> tuple[int, int]:
    """Where the packed bytes of a member begin in an exported file, and how many they are."""
    with zipfile.ZipFile(exported) as archive:
        member = archive.getinfo(name)
    # A local header is 30 bytes, then the name and an extra field whose lengths stand at 26 and 28.
    with exported.open("rb") as stream:
        stream.seek(member.header_offset + 26)
        lengths = stream.read(4)
    name_bytes, extra_bytes = (int.from_bytes(lengths[i : i + 2], "little") for i in (0, 2))
    return member.header_offset + 30 + name_bytes + extra_bytes, member.compress_size
