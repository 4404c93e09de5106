"""A finding's page: what moved together, what else differs, and what people and bisections made of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.shortcuts import get_object_or_404

from assay.accounts.access import Access
from assay.accounts.models import Action
from assay.regressions.findings import STEPS
from assay.regressions.models import Bisection, BisectionStart, Finding
from experiments.changes import catalogue
from experiments.changes.record import VersionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedMetric:
    """``address`` is that of its series."""

    name: str
    change: float | None
    reason: str

    @property
    def address(self) -> str:
        return self.name.replace(" ", ":", 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectionView:
    bisection: Bisection
    starts: list[BisectionStart]


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingPage:
    finding: Finding
    metrics: list[MovedMetric]
    moved: list[dict[str, object]]
    unknown: int
    steps: list[object]
    next_states: Sequence[str]
    records: list[VersionRecord]
    versions: tuple[str, str] | None  # of the engine, before and after, where it changed
    bisections: list[BisectionView]
    may_manage: bool
    may_write: bool


def finding_page(finding_id: UUID, access: Access) -> FindingPage:
    finding = get_object_or_404(Finding.objects.select_related("schedule", "run"), pk=finding_id)
    differing = [f for f in finding.identity if f["verdict"] != "unknown"]
    return FindingPage(
        finding=finding,
        metrics=[
            MovedMetric(name=m["metric"], change=m["change"], reason=m["reason"])
            for m in finding.metrics
        ],
        moved=differing,
        unknown=len(finding.identity) - len(differing),
        steps=list(finding.steps.order_by("pk")),
        next_states=STEPS[finding.state],
        records=_records(finding),
        versions=_versions(finding),
        bisections=_bisections(finding),
        may_manage=access.may(Action.manage, finding.schedule.project_id),
        may_write=access.may(Action.write, finding.schedule.project_id),
    )


def _records(finding: Finding) -> list[VersionRecord]:
    known = {record.id: record for record in catalogue.records(finding.run.engine_key)}
    return [known[key] for key in finding.records if key in known]


def _versions(finding: Finding) -> tuple[str, str] | None:
    field = next((f for f in finding.identity if f["field"] == "engine.version"), None)
    return (str(field["before"]), str(field["after"])) if field else None


def _bisections(finding: Finding) -> list[BisectionView]:
    return [
        BisectionView(bisection=one, starts=list(one.starts.select_related("study").order_by("pk")))
        for one in finding.bisections.order_by("-pk")
    ]
