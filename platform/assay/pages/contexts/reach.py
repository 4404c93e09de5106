"""How far a run's evidence reaches: which of its steps a trace covers, and what its cache may serve.

A trace is taken in a phase of its own and holds for the shapes of that phase, and for no others.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
from django.utils.translation import gettext as _

from assay.accounts.access import Access
from assay.analysis.claims.cache_key import cache_key, check_reuse
from assay.analysis.claims.claim import Says, claim, still_holds
from assay.analysis.errors import ClaimRefused
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.standing import Stage, Standing, check_main_subject
from assay.archive.derived_schemas import ITERATIONS
from assay.ledger.models import Run
from assay.ledger.visibility import visible_runs
from assay.pages.contexts.head import RunHead
from runners.protocol.documents import Evidence, IdentityItem
from runners.protocol.events import EvidenceStrength

SHOWN_COMPOSITIONS = 12
SHOWN_RUNS = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """A traced claim, and how many of the measured steps were of a composition that it covers."""

    subject: str
    statement: str
    covered: int
    steps: int
    lacking: list[tuple[str, int]]  # composition -> steps, the commonest first
    refused: str

    @property
    def share(self) -> float | None:
        return self.covered / self.steps if self.steps else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reuse:
    """Whether what this run's engine kept may serve another run of the study."""

    run: Run
    refused: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MainSubject:
    """What was asked, and why the model may not be the main subject; empty where it may."""

    stage: str
    stages: list[str]
    refused: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachPart:
    traces: list[Reach]
    reuse: list[Reuse]
    subject: MainSubject


def reach_part(head: RunHead, access: Access, stage: str) -> ReachPart:
    document = head.folder.identity() if head.folder else None
    return ReachPart(
        traces=trace_reach(head, document["run"] if document else []),
        reuse=list(reuse(head, access)),
        subject=main_subject(head, stage),
    )


def trace_reach(head: RunHead, items: list[IdentityItem]) -> list[Reach]:
    """One per traced item of the identity. Nothing where no step was recorded."""
    compositions = measured_compositions(head)
    version = head.run.engine_version
    return [
        _reach(item["item"], evidence, compositions, version)
        for item in items
        for evidence in item["evidence"]
        if evidence["strength"] == EvidenceStrength.trace
    ]


def _reach(
    subject: str, evidence: Evidence, compositions: Mapping[tuple[int, int, int], int], version: str
) -> Reach:
    steps = sum(compositions.values())
    try:
        made = claim(Says.ran, subject, evidence)
    except ClaimRefused as refusal:
        return Reach(
            subject=subject,
            statement=evidence["statement"],
            covered=0,
            steps=steps,
            lacking=[],
            refused=str(refusal),
        )
    covered, lacking = 0, []
    for (prefilling, tokens, decoding), count in compositions.items():
        words = _words(evidence, prefilling, tokens, decoding)
        try:
            still_holds(made, engine_version=version, asked={"batches": words})
            covered += count
        except ClaimRefused:
            lacking.append((words, count))
    return Reach(
        subject=subject,
        statement=evidence["statement"],
        covered=covered,
        steps=steps,
        lacking=sorted(lacking, key=lambda pair: -pair[1])[:SHOWN_COMPOSITIONS],
        refused="",
    )


def _words(evidence: Evidence, prefilling: int, tokens: int, decoding: int) -> str:
    """A step as this evidence writes its batches: engines write them in forms of their own."""
    stated: Any = evidence["conditions"].get("batches") or ()
    if any(str(batch).startswith("decode=") for batch in stated):
        return f"decode={decoding} prefill={prefilling} tokens={tokens + decoding}"
    return f"prefill={prefilling} ({tokens} tokens) decode={decoding}"


def measured_compositions(head: RunHead) -> dict[tuple[int, int, int], int]:
    """(requests in prefill, their tokens, requests in decode) -> steps of the measured phase."""
    path = head.reading.table(ITERATIONS) if head.reading else None
    if path is None:
        return {}
    steps = pl.scan_parquet(path)
    wanted = ["batch", "prefill_tokens", "decode_tokens"]
    if not set(wanted) <= set(steps.collect_schema().names()):
        return {}
    # A decoding request runs one token a step; whoever else is in the step is in prefill.
    decoding = pl.col("decode_tokens")
    own = steps.select((pl.col("batch") - decoding).alias("prefilling"), "prefill_tokens", decoding)
    counted = own.group_by("prefilling", "prefill_tokens", "decode_tokens").len().collect()
    return {(row[0], row[1], row[2]): row[3] for row in counted.iter_rows() if None not in row}


def reuse(head: RunHead, access: Access) -> Iterator[Reuse]:
    """Other runs of the study, each with whether the kept state may serve it."""
    own = cache_key(head.spec)
    runs = visible_runs(access).filter(study=head.run.study_id).exclude(pk=head.run.pk)
    for run in runs.order_by("position", "repetition")[:SHOWN_RUNS]:
        try:
            check_reuse(own, cache_key(run.spec))
            yield Reuse(run=run, refused="")
        except ClaimRefused as refusal:
            yield Reuse(run=run, refused=str(refusal))


def main_subject(head: RunHead, asked: str) -> MainSubject:
    """``asked``: the stage that its publisher states, which no file of an artifact holds."""
    stages = [stage.value for stage in Stage]
    if asked not in stages:
        return MainSubject(stage="", stages=stages, refused="")
    artifact, bundle = head.run.artifact, head.bundle
    verified = bundle is not None and bundle.identity_complete and head.run.state == "sealed"
    standing = Standing(
        model=head.run.artifact_name,
        revision=artifact.digest if artifact else _("never verified"),
        stage=Stage(asked),
        checked_by=f"run {head.run.pk}" if verified else None,
    )
    try:
        check_main_subject(standing)
    except ModelRefused as refusal:
        return MainSubject(stage=asked, stages=stages, refused=str(refusal))
    return MainSubject(stage=asked, stages=stages, refused="")
