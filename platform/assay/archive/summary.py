"""What the index keeps of a sealed bundle, read from its own documents."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from runners.protocol import layout, manifest
from runners.protocol.documents import ArtifactIdentity
from runners.protocol.events import ResourceLimit, RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleSummary:
    """Facts of one bundle. A bundle that was cut short may lack an artifact, a plan or an observation."""

    digest: str
    run_id: str | None
    execution_id: str | None
    state: RunState
    reason: str
    study: str
    repetition: int
    spec: dict[str, Any]
    spec_digest: str
    plan_digest: str
    bytes: int
    files: int
    level: ResourceLimit
    identity_complete: bool
    artifact: ArtifactIdentity | None
    sealed_at: datetime


def summarise(folder: Path) -> BundleSummary:
    """Read a verified bundle folder; nothing here is checked again."""
    header = manifest.read(folder)
    identity = _document(folder / layout.IDENTITY) or {}
    error = _document(folder / layout.ERROR) or {}
    digest = (folder / layout.MANIFEST_DIGEST).read_text(encoding="ascii").strip()
    return BundleSummary(
        digest=digest,
        run_id=header.get("run_id"),
        execution_id=header.get("execution_id"),
        state=RunState(header["state"]),
        reason=_reason(error),
        study=str(header.get("study") or ""),
        repetition=int(header.get("repetition") or 0),
        spec=_document(folder / layout.SPEC) or {},
        spec_digest=str(header.get("spec_digest") or ""),
        plan_digest=str(header.get("plan_digest") or ""),
        bytes=sum(int(e["bytes"]) for e in header["files"]),
        files=len(header["files"]),
        level=ResourceLimit(header.get("level") or ResourceLimit.E0),
        identity_complete=bool(identity.get("complete", False)),
        artifact=cast("ArtifactIdentity | None", identity.get("artifact") or None),
        sealed_at=_sealed_at(header),
    )


def _document(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    found = json.loads(path.read_bytes())
    return found if isinstance(found, dict) else None


def _reason(error: dict[str, Any]) -> str:
    return str(error.get("message") or error.get("reason") or "")


def _sealed_at(header: dict[str, Any]) -> datetime:
    stated = header.get("sealed_at")
    if not stated:
        return datetime.now(UTC)
    return datetime.fromisoformat(str(stated).replace("Z", "+00:00"))
