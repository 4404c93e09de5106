"""Take in a bundle from elsewhere: unpack, verify, interpret, store, index. Twice is the same as once."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from django.db import transaction

from assay.accounts.services import local_user
from assay.archive import store, transfer
from assay.archive.errors import DamagedBundle, RefusedArchive
from assay.archive.paths import Home
from assay.archive.quarantine import quarantine
from assay.archive.summary import summarise
from assay.execution.interpreting import interpret
from assay.ledger import indexing
from assay.ledger import services as ledger
from assay.ledger.ids import uuid7
from assay.ledger.models import Bundle, Run
from assay.review import foreign
from assay.review.history import NAME
from assay.versions import confirming
from experiments.errors import Refusal
from runners.protocol import layout, manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    run: Run
    bundle: Bundle
    new: bool


def import_bundle(source: Path, home: Home, *, owner: str) -> Imported:
    """Import an exported file or a bundle folder (which is copied).

    Raises RefusedArchive, leaving nothing; or DamagedBundle, leaving what came in quarantine with the names
    of the files.
    """
    home.scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="import-", dir=home.scratch) as temporary:
        scratch = Path(temporary)
        folder = scratch / "bundle"
        try:
            checked = _bring_in(source, folder)
        except DamagedBundle as damage:
            _set_aside(home, folder, source, damage)
            raise
        digest = str(checked.bundle_digest)
        history = _history(source, digest)
        found = _take_in(home, folder, digest, scratch=scratch, owner=owner)
    if history is not None:
        foreign.keep(history, found.bundle, user=local_user())
    return found


def _history(source: Path, digest: str) -> foreign.History | None:
    """What an export brings of reviews elsewhere; refused before anything is stored if it is none of ours."""
    content = transfer.beside(source, NAME) if source.is_file() else None
    if content is None:
        return None
    try:
        return foreign.parsed(content, bundle_digest=digest)
    except Refusal as refusal:
        finding = refusal.findings[0]
        raise RefusedArchive(finding.field, finding.seen, finding.allowed) from refusal


def _bring_in(source: Path, folder: Path) -> manifest.Verification:
    if source.is_file():
        return transfer.unpack(source, folder)
    if not (source / layout.MANIFEST).is_file():  # before a whole tree is copied
        raise RefusedArchive(layout.MANIFEST, "missing", "a bundle with its manifest")
    shutil.copytree(source, folder, symlinks=True)
    checked = manifest.verify(folder)
    if not checked.ok:
        raise DamagedBundle(str(source), checked.problems)
    return checked


def _take_in(home: Home, folder: Path, digest: str, *, scratch: Path, owner: str) -> Imported:
    known = Bundle.objects.select_related("run__study").filter(digest=digest).first()
    if known is not None and known.run is not None:
        store.put(home, folder)  # fills in what was withheld here, or mends a damaged copy
        return Imported(run=known.run, bundle=known, new=False)
    summary = summarise(folder)
    reading = interpret(home, folder, digest=digest, scratch=scratch)
    with transaction.atomic():
        store.put(home, folder)
        run = ledger.record_imported_run(summary, owner=owner)
        execution_id = UUID(summary.execution_id) if summary.execution_id else uuid7()
        bundle = ledger.record_bundle(summary, run=run, execution_id=execution_id, imported=True)
        if reading.document is not None:
            indexing.index_interpretation(bundle, reading.document, digest=reading.digest)
        ledger.accept_imported(run, execution_id=execution_id)
        confirming.confirm_version(run, bundle, home.bundle(digest))
    return Imported(run=Run.objects.select_related("study").get(id=run.id), bundle=bundle, new=True)


def _set_aside(home: Home, folder: Path, source: Path, damage: DamagedBundle) -> None:
    reason = f"imported from {source.name}: it does not match its manifest"
    kept = quarantine(
        home, folder, name=f"import-{uuid7()}", reason=reason, problems=damage.problems
    )
    ledger.record_quarantined(folder=kept.folder, reason=reason, problems=damage.problems)
