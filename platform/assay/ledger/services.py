"""Writes to the index. Each function owns its transaction and is safe to call twice."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import transaction

from assay.accounts.models import MAIN_PROJECT
from assay.archive.summary import BundleSummary
from assay.ledger.ids import uuid7
from assay.ledger.models import Artifact, Bundle, Need, Quarantined, Run, Study
from assay.ledger.needs import NeedDocument, need_digest, need_of
from assay.ledger.shown import refresh
from runners.protocol.documents import ArtifactIdentity
from runners.protocol.events import RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What a study says of itself; none of it enters a spec digest."""

    name: str
    title: str = ""
    question: str = ""
    tags: Sequence[str] = ()
    overrides: Sequence[str] = ()
    order_seed: int = 0
    owner: str = ""
    project_id: UUID = MAIN_PROJECT
    study_id: UUID | None = None  # given out before; null: a new one


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """One RunSpec at its place in the study's recorded order."""

    spec: Mapping[str, Any]
    spec_digest: str
    position: int
    repetition: int
    variables: Mapping[str, Any] = field(default_factory=dict)


@transaction.atomic
def create_study(
    declaration: Declaration, planned: Sequence[PlannedRun], *, reserved_by: str = ""
) -> Study:
    """A study with all its runs, queued. ``reserved_by`` keeps them for one worker (an inline run)."""
    study = Study.objects.create(
        id=declaration.study_id or uuid7(),
        name=declaration.name,
        title=declaration.title,
        question=declaration.question,
        tags=list(declaration.tags),
        overrides=list(declaration.overrides),
        order_seed=declaration.order_seed,
        owner=declaration.owner,
        project_id=declaration.project_id,
    )
    needs = [need_of(p.spec) for p in planned]
    keep_needs(needs)
    runs = [_run(study, p, reserved_by=reserved_by) for p in planned]
    for run, need in zip(runs, needs, strict=True):
        run.need_id = need_digest(need)
    Run.objects.bulk_create(runs)
    return study


def keep_needs(needs: Iterable[NeedDocument]) -> None:
    """A row for each distinct need that has none yet."""
    distinct = {need_digest(need): need for need in needs}
    known = set(Need.objects.filter(digest__in=distinct).values_list("digest", flat=True))
    rows = [
        Need(digest=digest, queue=need["kind"], document=need)
        for digest, need in distinct.items()
        if digest not in known
    ]
    Need.objects.bulk_create(rows, ignore_conflicts=True)


def _run(study: Study, planned: PlannedRun, *, reserved_by: str = "") -> Run:
    spec = planned.spec
    return Run(
        id=uuid7(),
        study=study,
        position=planned.position,
        repetition=planned.repetition,
        spec=dict(spec),
        spec_digest=planned.spec_digest,
        variables=dict(planned.variables),
        artifact_name=spec["artifact"]["name"],
        engine_key=spec["engine"]["key"],
        engine_version=spec["engine"]["version"] or "version unknown",
        device_name=spec["device"]["name"],
        queue=spec["device"]["kind"],
        reserved_by=reserved_by,
    )


def record_artifact(identity: ArtifactIdentity) -> Artifact:
    artifact, _ = Artifact.objects.get_or_create(
        digest=identity["digest"],
        defaults={
            "name": identity["name"],
            "revision": identity["revision"],
            "parent_digest": (identity["parent"] or {}).get("digest", ""),
            "document": identity,
        },
    )
    return artifact


@transaction.atomic
def record_bundle(
    summary: BundleSummary, *, run: Run | None, execution_id: UUID, imported: bool = False
) -> Bundle:
    """The row of a stored bundle, and the artifact that its run turned out to serve."""
    bundle, _ = Bundle.objects.get_or_create(
        digest=summary.digest,
        defaults={
            "run": run,
            "execution_id": execution_id,
            "state": summary.state.value,
            "spec_digest": summary.spec_digest,
            "plan_digest": summary.plan_digest,
            "bytes": summary.bytes,
            "files": summary.files,
            "level": summary.level.value,
            "identity_complete": summary.identity_complete,
            "imported": imported,
            "sealed_at": summary.sealed_at,
        },
    )
    if run is not None and summary.artifact is not None:
        Run.objects.filter(id=run.id, artifact=None).update(
            artifact=record_artifact(summary.artifact)
        )
    return bundle


@transaction.atomic
def record_imported_run(summary: BundleSummary, *, owner: str) -> Run:
    """The run of a bundle that was made elsewhere, under its own id if that id is free here.

    A run of that id with the same spec is the same run. With another spec it is a stranger that bears the
    same id, and the import gets an id of its own.
    """
    own_id = _uuid(summary.run_id)
    known = Run.objects.filter(id=own_id).first() if own_id else None
    if known is not None and known.spec_digest == summary.spec_digest:
        return known
    study = Study.objects.create(
        id=uuid7(),
        name=summary.study or "imported",
        title=f"Imported bundle {summary.digest[:12]}",
        tags=["imported"],
        owner=owner,
    )
    planned = PlannedRun(
        spec=summary.spec,
        spec_digest=summary.spec_digest,
        position=0,
        repetition=summary.repetition,
    )
    run = _run(study, planned)
    if known is None and own_id is not None:
        run.id = own_id
    run.state = summary.state.value
    run.state_reason = summary.reason
    run.ended_at = summary.sealed_at
    run.save(force_insert=True)
    return run


def accept_imported(run: Run, *, execution_id: UUID) -> None:
    """An imported run points at the execution that its bundle came from, unless it has a better one."""
    Run.objects.filter(
        id=run.id, accepted_execution=None, state__in=[s.value for s in ACCEPTABLE]
    ).update(accepted_execution=execution_id)
    refresh([run.id])


ACCEPTABLE = (RunState.sealed, RunState.failed, RunState.aborted)


def record_quarantined(
    *,
    folder: Path,
    reason: str,
    problems: Sequence[str],
    execution_id: UUID | None = None,
    run_id: UUID | None = None,
    bundle_digest: str = "",
) -> Quarantined:
    return Quarantined.objects.create(
        id=uuid7(),
        execution_id=execution_id,
        run_id=run_id,
        bundle_digest=bundle_digest,
        reason=reason,
        problems=list(problems),
        folder=str(folder),
    )


def _uuid(text: str | None) -> UUID | None:
    try:
        return UUID(text or "")
    except ValueError:
        return None
