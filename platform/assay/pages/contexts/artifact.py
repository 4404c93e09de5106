"""An artifact as a table: what it is, its bytes, what they mean, and what is not known of it."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.shortcuts import get_object_or_404

from assay.accounts.access import Access
from assay.ledger.models import Artifact
from assay.ledger.visibility import visible_artifacts, visible_runs
from assay.pages.contexts.run_rows import RunRow, for_rows, run_rows
from runners.protocol.documents import Gap, VerifiedFile

PRECISIONS = ("weights", "activations", "accumulation", "kv")
SHOWN_RUNS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionRow:
    """One of the four precisions; a dtype alone does not describe one."""

    name: str
    dtype: str
    bits: float | None
    granularity: str
    scale: dict[str, Any] | None
    excluded: list[str]
    excluded_dtype: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactTable:
    name: str
    revision: str
    digest: str
    source: dict[str, Any]
    parent: dict[str, Any] | None
    files: list[VerifiedFile]
    config: dict[str, Any]
    precisions: list[PrecisionRow]
    parts: list[tuple[str, dict[str, Any]]]
    gaps: list[Gap]

    @property
    def bytes(self) -> int:
        return sum(file["bytes"] for file in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactPage:
    artifact: Artifact
    table: ArtifactTable
    parent: Artifact | None
    children: list[Artifact]
    runs: list[RunRow]
    more_runs: int


def artifacts(access: Access) -> QuerySet[Artifact, Artifact]:
    """With the number of their runs that may be seen."""
    seen = Count("runs", filter=Q(runs__in=visible_runs(access)))
    return visible_artifacts(access).annotate(run_count=seen).order_by("name", "-first_seen")


def artifact_page(digest: str, access: Access) -> ArtifactPage:
    """Raises Http404 for an unknown digest."""
    artifact = get_object_or_404(Artifact, digest=digest)
    table = artifact_table(artifact.document)
    assert table is not None
    seen = visible_artifacts(access)
    runs = for_rows(visible_runs(access).filter(artifact=artifact))
    runs = runs.order_by("-created_at")
    shown = list(runs[: SHOWN_RUNS + 1])
    parent = artifact.parent_digest or None
    return ArtifactPage(
        artifact=artifact,
        table=table,
        parent=seen.filter(digest=parent).first() if parent else None,
        children=list(seen.filter(parent_digest=artifact.digest)),
        runs=run_rows(shown[:SHOWN_RUNS]),
        more_runs=max(0, runs.count() - SHOWN_RUNS) if len(shown) > SHOWN_RUNS else 0,
    )


def artifact_table(document: Any) -> ArtifactTable | None:
    """From ``ArtifactIdentity``; None when a run ended before its artifact was verified."""
    if not document:
        return None
    parts = ("tokenizer", "chat_template", "tools", "generation", "reproducibility", "packages")
    return ArtifactTable(
        name=document["name"],
        revision=document["revision"],
        digest=document["digest"],
        source=document["source"],
        parent=document["parent"],
        files=document["files"],
        config=document["config"],
        precisions=[_precision(n, document["precision"].get(n) or {}) for n in PRECISIONS],
        parts=[(part.replace("_", " "), document[part]) for part in parts],
        gaps=document["gaps"],
    )


def _precision(name: str, stated: dict[str, Any]) -> PrecisionRow:
    return PrecisionRow(
        name=name,
        dtype=str(stated.get("dtype") or ""),
        bits=stated.get("bits"),
        granularity=str(stated.get("granularity") or ""),
        scale=stated.get("scale"),
        excluded=list(stated.get("excluded_layers") or []),
        excluded_dtype=stated.get("excluded_dtype"),
    )
