"""Sealed bundles: what is known of one, whether its bytes are still those that were sealed, its files."""

import tempfile
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import FileResponse, Http404, HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router, Schema

from assay.api.errors import Conflict, answers
from assay.api.throttle import PerMinute
from assay.archive import export
from assay.archive.bundle_files import listed_file, listed_files
from assay.archive.errors import DamagedBundle
from assay.archive.paths import Home
from assay.archive.remote.fetching import bundle_folder
from assay.ledger.models import Bundle
from assay.ledger.rows import moment
from experiments.errors import Finding
from runners.protocol import manifest

router = Router(tags=["bundles"])
BYTES = {
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
}
AS_BYTES: dict[str, Any] = {"responses": {200: {"description": "the bytes", **BYTES}}}


class BundleOut(Schema):
    """``present``: whether its files lie on this server."""

    bundle_digest: str
    run: UUID | None
    execution: UUID
    state: str
    level: str
    identity_complete: bool
    imported: bool
    spec_digest: str
    plan_digest: str | None
    bytes: int
    files: int
    present: bool
    sealed_at: str
    definition_versions: list[str]


class VerificationOut(Schema):
    """What ``assay verify --json`` prints; ``problems`` name changed, missing and extra files."""

    bundle: str
    bundle_digest: str | None
    ok: bool
    files: int
    bytes: int
    problems: list[str]
    withheld: list[str]
    signed_by: str | None


class FileOut(Schema):
    path: str
    file_class: str
    bytes: int
    sha256: str
    present: bool
    withheld: str | None


class FilesOut(Schema):
    bundle_digest: str
    files: list[FileOut]


@router.get("/{bundle_digest}", response=answers(BundleOut))
def get_bundle(request: HttpRequest, bundle_digest: str) -> dict[str, Any]:
    """What the index knows of a bundle."""
    row = _bundle(bundle_digest)
    readings = row.interpretations.order_by("created_at").values_list(
        "definition_version", flat=True
    )
    return {
        "bundle_digest": row.digest,
        "run": row.run_id,
        "execution": row.execution_id,
        "state": row.state,
        "level": row.level,
        "identity_complete": row.identity_complete,
        "imported": row.imported,
        "spec_digest": row.spec_digest,
        "plan_digest": row.plan_digest or None,
        "bytes": row.bytes,
        "files": row.files,
        "present": _folder(row).is_dir(),
        "sealed_at": moment(row.sealed_at),
        "definition_versions": list(readings),
    }


@router.get(
    "/{bundle_digest}/verification",
    response=answers(VerificationOut),
    throttle=PerMinute("verify", 12),
)
def verify_bundle(request: HttpRequest, bundle_digest: str) -> dict[str, Any]:
    """Compares every byte of the stored copy with its manifest, now."""
    row = _bundle(bundle_digest)
    checked = manifest.verify(_present(row))
    problems = list(checked.problems)
    if checked.bundle_digest not in {row.digest, None}:
        problems.append(f"manifest.json: changed (it is now that of {checked.bundle_digest})")
    return {
        "bundle": f"/api/v1/bundles/{row.digest}",
        "bundle_digest": checked.bundle_digest,
        "ok": not problems,
        "files": checked.checked,
        "bytes": checked.bytes,
        "problems": problems,
        "withheld": list(checked.withheld),
        "signed_by": None,
    }


@router.get("/{bundle_digest}/files", response=answers(FilesOut))
def list_files(request: HttpRequest, bundle_digest: str) -> dict[str, Any]:
    """Every file that the manifest lists, with its digest."""
    row = _bundle(bundle_digest)
    return {"bundle_digest": row.digest, "files": listed_files(_present(row))}


@router.get("/{bundle_digest}/files/{path:path}", response=answers(None), openapi_extra=AS_BYTES)
def get_file(request: HttpRequest, bundle_digest: str, path: str) -> FileResponse:
    """One file of the bundle, byte for byte."""
    found = listed_file(_folder(_bundle(bundle_digest)), path)
    if found is None:
        raise Http404
    return _download(found, found.name)


@router.get(
    "/{bundle_digest}/export",
    response=answers(None, also=[409]),
    openapi_extra=AS_BYTES,
    throttle=PerMinute("export", 12),
)
def export_bundle(
    request: HttpRequest, bundle_digest: str, without_content: bool = False
) -> FileResponse:
    """The bundle as one file, verified first, as ``assay export`` writes it: the same bytes every time."""
    folder = _present(_bundle(bundle_digest))
    scratch = Home(settings.HOME).scratch
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="export-", dir=scratch) as temporary:
        file = Path(temporary) / f"{bundle_digest[:12]}{export.SUFFIX}"
        try:
            if without_content:
                export.export_without_content(folder, file, scratch=scratch)
            else:
                export.export_bundle(folder, file)
        except DamagedBundle as damage:
            raise Conflict(_damaged(damage)) from damage
        return _download(file, file.name)  # opened here; its name may go, its bytes stay


def _download(path: Path, name: str) -> FileResponse:
    return FileResponse(
        path.open("rb"),
        as_attachment=True,
        filename=name,
        content_type="application/octet-stream",
    )


def _bundle(digest: str) -> Bundle:
    return get_object_or_404(Bundle, digest=digest)


def _folder(row: Bundle) -> Path:
    return bundle_folder(Home(settings.HOME), row.digest)


def _present(row: Bundle) -> Path:
    folder = _folder(row)
    if not (folder / "manifest.json").is_file():
        raise Http404
    return folder


def _damaged(damage: DamagedBundle) -> Finding:
    return Finding(
        field="bundle",
        seen="; ".join(damage.problems),
        allowed="the bytes that were sealed",
        remedy="Bring the bundle back from another copy.",
    )
