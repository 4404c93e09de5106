"""Compare disk, index and archive with one another. Reads only; mending is apart.

A run that is being taken in has its bundle in the store a moment before its row: what an open execution
wrote is left out.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from assay.analysis.definition import DEFINITION_VERSION
from assay.archive.checking import (
    check_readings,
    check_store,
    stored_digests,
    stored_readings,
)
from assay.archive.faults import Fault, FaultKind
from assay.archive.interpretation import INTERPRETATION
from assay.archive.paths import Home
from assay.archive.remote.fetching import digests
from assay.archive.remote.location import Remote
from assay.execution.models import Execution, ExecutionState
from assay.ledger.models import Bundle, Interpretation, Quarantined
from assay.operations.models import Removal
from runners.protocol import manifest

CHUNK = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is where, by digest: the index, the disk, the archive."""

    rows: frozenset[str]
    let_go: frozenset[str]
    here: frozenset[str]
    archived: frozenset[str] = field(default_factory=frozenset)


def fsck(home: Home, remote: Remote | None) -> Iterator[Fault]:
    """Every fault, disk first. Raises OutOfReach if an archive is named and does not answer."""
    there = dict(digests(remote)) if remote is not None else {}
    yield from check_store(home)
    yield from check_readings(home)
    known = Known(
        rows=frozenset(Bundle.objects.values_list("digest", flat=True).iterator(CHUNK)),
        let_go=frozenset(Removal.objects.values_list("bundle_id", flat=True)),
        here=frozenset(stored_digests(home)),
        archived=frozenset(digest for digest, is_whole in there.items() if is_whole),
    )
    yield from _check_index(home, known)
    yield from _check_indexed_readings(home)
    yield from _check_read(home, known)
    yield from _check_executions(home)
    yield from _check_quarantine()
    if remote is not None:
        yield from _check_archive(remote, known, there)


def _check_index(home: Home, known: Known) -> Iterator[Fault]:
    for digest in sorted(known.here - known.rows):
        if not _is_being_taken_in(home.bundle(digest)):
            where = str(home.bundle(digest))
            yield Fault(kind=FaultKind.unregistered_bundle, subject=digest, where=where)
    for digest in sorted(known.rows - known.here - known.archived - known.let_go):
        where = str(home.bundle(digest))
        yield Fault(kind=FaultKind.lost_bundle, subject=digest, where=where)


def _is_being_taken_in(folder: Path) -> bool:
    try:
        execution = UUID(str(manifest.read(folder).get("execution_id")))
    except (OSError, ValueError):
        return False
    return Execution.objects.filter(
        id=execution, state=ExecutionState.running, ended_at=None
    ).exists()


def _check_indexed_readings(home: Home) -> Iterator[Fault]:
    """Each reading that the index knows, by the digest of its bytes."""
    for row in Interpretation.objects.order_by("bundle_id").iterator(CHUNK):
        path = home.derived / row.bundle_id / row.definition_version / INTERPRETATION
        if not path.is_file():
            yield Fault(kind=FaultKind.lost_reading, subject=row.bundle_id, where=str(path))
        elif (found := hashlib.sha256(path.read_bytes()).hexdigest()) != row.digest:
            detail = f"sha256 {found}, the index says {row.digest}"
            yield Fault(
                kind=FaultKind.altered_reading,
                subject=row.bundle_id,
                where=str(path),
                detail=detail,
            )


def _check_read(home: Home, known: Known) -> Iterator[Fault]:
    """Which bundles were read by the present definition, and which readings nobody knows."""
    indexed: dict[str, set[str]] = {}
    for digest, version in Interpretation.objects.values_list("bundle_id", "definition_version"):
        indexed.setdefault(digest, set()).add(version)
    for digest, version in stored_readings(home):
        if version not in indexed.get(digest, set()) and digest in known.rows:
            where = str(home.derived / digest / version)
            yield Fault(kind=FaultKind.unregistered_reading, subject=digest, where=where)
    for digest in sorted(known.rows & known.here):
        versions = indexed.get(digest, set())
        if DEFINITION_VERSION in versions:
            continue
        kind = FaultKind.other_definition if versions else FaultKind.no_reading
        detail = f"read by {', '.join(sorted(versions)) or 'none'}; {DEFINITION_VERSION} is the present one"
        yield Fault(kind=kind, subject=digest, where=str(home.derived / digest), detail=detail)


def _check_executions(home: Home) -> Iterator[Fault]:
    """Working folders whose execution is over or unknown: what was captured there was never sealed."""
    if not home.executions.is_dir():
        return
    live = {
        str(e)
        for e in Execution.objects.filter(ended_at=None, state=ExecutionState.running).values_list(
            "id", flat=True
        )
    }
    for folder in sorted(p for p in home.executions.iterdir() if p.is_dir()):
        if folder.name not in live:
            yield Fault(kind=FaultKind.half_sealed, subject=folder.name, where=str(folder))


def _check_quarantine() -> Iterator[Fault]:
    for row in Quarantined.objects.order_by("created_at").iterator(CHUNK):
        if not Path(row.folder).is_dir():
            subject = row.bundle_digest or str(row.id)
            yield Fault(kind=FaultKind.lost_quarantine, subject=subject, where=row.folder)


def _check_archive(remote: Remote, known: Known, there: dict[str, bool]) -> Iterator[Fault]:
    for digest, is_whole in sorted(there.items()):
        if not is_whole:
            where = f"{remote.url} {remote.bundle(digest)}"
            yield Fault(kind=FaultKind.half_archived, subject=digest, where=where)
    for digest in sorted((known.rows & known.here) - set(there) - known.let_go):
        yield Fault(kind=FaultKind.not_archived, subject=digest, where=remote.url)
