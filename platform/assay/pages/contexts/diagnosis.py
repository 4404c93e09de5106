"""Where is it slow? The run beside a reference of the same workload, in the order in which a proof goes.

Boundary and unit, end to end on one clock, the path with labelled intervals, an intervention with its repeat:
before the last of them a lead is a hypothesis. Leads name responsibilities of an engine, never a cause.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import variance
from uuid import UUID

import polars as pl
from django.http import Http404
from django.utils.translation import gettext as _

from assay.accounts.access import Access
from assay.analysis.claims.kernel_paths import KernelPath, kernel_paths
from assay.analysis.claims.triage import Observed, Triage, triage
from assay.analysis.errors import ClaimRefused
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.kernel_gain import Implementation, KernelGain, end_to_end_speed_up
from assay.analysis.proof_chain import Link, Step, conclude
from assay.analysis.structures.intervention import DelayedRuns, OutsideClaim, slow_outside
from assay.archive.derived_schemas import ITERATIONS, TIMELINE
from assay.ledger.models import Measure, Run
from assay.ledger.shown import preferred
from assay.ledger.visibility import visible_runs
from assay.pages.contexts.head import RunHead, run_head
from experiments.changes.components import ComponentMap, component_map

SHOWN_RUNS = 50
STANDARD_ERRORS = 2  # within which two means of tasks' times are not told apart
OBSERVED = {
    "queue_s": ("queue.server", "p50"),
    "first_byte_s": ("ttft.first_byte.client", "p50"),
    "engine_first_token_s": ("ttft.server", "p50"),
    "inter_token_s": ("tpot.last_token", "p50"),
}
END_TO_END = ("e2e.client", "p50")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A run that this one may be held against."""

    run: Run
    label: str
    here: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedRow:
    name: str
    rule: str
    unit: str
    run: float | None
    reference: float | None

    @property
    def times(self) -> float | None:
        return self.run / self.reference if self.run is not None and self.reference else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreditRow:
    """A path that differs from the reference: the measured speed-up, or why it is not credited to it."""

    path: str
    before: str
    after: str
    speed_up: float | None
    refused: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """One step with the evidence that carries it; empty evidence is a step that is still to show."""

    step: Step
    evidence: str
    lacking: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosisPage:
    candidates: list[Candidate]
    reference: Run | None
    observed: list[ObservedRow]
    triage: Triage | None
    parts: ComponentMap | None
    parts_problem: str
    credits: list[CreditRow]
    outside: OutsideClaim | None
    outside_problem: str
    proofs: list[Proof]
    conclusion: str
    hypothesis: str


def diagnosis_page(head: RunHead, access: Access, asked: str) -> DiagnosisPage:
    """Raises Http404 for a reference that nobody may see."""
    reference = _reference(asked, access)
    other = run_head(reference.pk, head.tab) if reference else None
    measures, was = _measures(head), _measures(other) if other else {}
    seen = _observed(head, measures)
    before = _observed(other, was) if other else None
    parts, problem = _parts(head.run)
    outside, outside_problem = _outside(head, other)
    proofs = list(_proofs(head, measures, outside, reference))
    found = triage(seen, before, components=parts) if before else None
    conclusion, hypothesis = _concluded(found, proofs)
    return DiagnosisPage(
        candidates=_candidates(head, access, reference),
        reference=reference,
        observed=list(_rows(seen, before)),
        triage=found,
        parts=parts,
        parts_problem=problem,
        credits=list(_credits(head, other, measures, was)) if other else [],
        outside=outside,
        outside_problem=outside_problem,
        proofs=proofs,
        conclusion=conclusion,
        hypothesis=hypothesis,
    )


def _reference(asked: str, access: Access) -> Run | None:
    if not asked:
        return None
    try:
        found = visible_runs(access).filter(pk=UUID(asked)).select_related("study").first()
    except ValueError:
        found = None
    if found is None:
        raise Http404(_("there is no such run to hold this one against"))
    return found


def _candidates(head: RunHead, access: Access, reference: Run | None) -> list[Candidate]:
    """Other runs of the study, and the reference whatever it is of."""
    runs = visible_runs(access).filter(study=head.run.study_id, state="sealed")
    own = list(
        runs.exclude(pk=head.run.pk).select_related("study").order_by("position")[:SHOWN_RUNS]
    )
    if reference is not None and reference.pk not in {run.pk for run in own}:
        own.append(reference)
    return [
        Candidate(
            run=run,
            label=f"{run.study.name} #{run.position}·{run.repetition} "
            + " ".join(f"{k}={v}" for k, v in run.variables.items()),
            here=reference is not None and run.pk == reference.pk,
        )
        for run in own
    ]


def _measures(head: RunHead) -> dict[tuple[str, str], Measure]:
    rules = [rule for rule, _statistic in (*OBSERVED.values(), END_TO_END)]
    own = Measure.objects.filter(interpretation=head.interpretation, rule__in=rules)
    return preferred(own.order_by("pk"))


def _observed(head: RunHead, measures: Mapping[tuple[str, str], Measure]) -> Observed:
    values = {
        name: measures[key].value if key in measures else None for name, key in OBSERVED.items()
    }
    return Observed(waiting=_waiting(head), **values)


def _waiting(head: RunHead) -> float | None:
    """The median of what waited at the engine's steps."""
    path = head.reading.table(ITERATIONS) if head.reading else None
    if path is None:
        return None
    steps = pl.scan_parquet(path)
    if "waiting" not in steps.collect_schema().names():
        return None
    median: float | None = steps.select(pl.col("waiting").median()).collect().item()
    return median


def _rows(run: Observed, reference: Observed | None) -> Iterator[ObservedRow]:
    names = {
        "queue_s": _("queue"),
        "first_byte_s": _("first byte at the client"),
        "engine_first_token_s": _("first token in the engine"),
        "inter_token_s": _("between tokens"),
        "waiting": _("requests waiting at a step"),
    }
    for name, label in names.items():
        yield ObservedRow(
            name=label,
            rule=OBSERVED[name][0] if name in OBSERVED else "",
            unit="s" if name in OBSERVED else "1",
            run=getattr(run, name),
            reference=getattr(reference, name) if reference else None,
        )


def _parts(run: Run) -> tuple[ComponentMap | None, str]:
    """The engine's own names for the responsibilities hold for the version they were read of."""
    found = component_map(run.engine_key)
    if found is None:
        return None, _("the parts of {engine} were not read").format(engine=run.engine_key)
    if found.version != run.engine_version:
        problem = _("its parts were read of version {read}, not of {ran}")
        return None, problem.format(read=found.version, ran=run.engine_version)
    return found, ""


def _credits(
    head: RunHead,
    other: RunHead | None,
    measures: Mapping[tuple[str, str], Measure],
    was: Mapping[tuple[str, str], Measure],
) -> Iterator[CreditRow]:
    """Each path that ran otherwise than in the reference."""
    before = {path.path: path for path in _paths(other)} if other else {}
    times = [m.get(END_TO_END) for m in (was, measures)]
    for path in _paths(head):
        old = before.get(path.path)
        if old is None or path.seen is None or old.seen is None or path.seen == old.seen:
            continue
        speed_up, refused = _credited(path, [t.value if t else None for t in times])
        yield CreditRow(
            path=path.path, before=old.seen, after=path.seen, speed_up=speed_up, refused=refused
        )


def _credited(path: KernelPath, times: list[float | None]) -> tuple[float | None, str]:
    before_s, after_s = times
    if not before_s or not after_s:
        return None, _("the end-to-end time of both runs is not known")
    called = Implementation(
        algorithm=path.path,
        library_kernel=path.seen or "",
        engine_dispatch=path.state or "",
        strength=path.strength,
        evidence=path.reason,
    )
    gain = KernelGain(
        traffic_ratio=None, microbenchmark_speed_up=None, benchmark_shape=None, called=called
    )
    try:
        return end_to_end_speed_up(gain, before_s=before_s, after_s=after_s), ""
    except ModelRefused as refusal:
        return None, str(refusal)


def _paths(head: RunHead) -> list[KernelPath]:
    document = head.folder.identity() if head.folder else None
    return kernel_paths(document["run"]) if document else []


def _outside(head: RunHead, other: RunHead | None) -> tuple[OutsideClaim | None, str]:
    """Whether a changed delay of a dependency moved the tasks by as much."""
    before = _delayed(other) if other else None
    after = _delayed(head)
    try:
        return slow_outside(
            before or after,
            after if before else None,
            tolerance_s=_tolerance(before, after) if before else 0.0,
        ), ""
    except ClaimRefused as refusal:
        return None, str(refusal)


def _delayed(head: RunHead) -> DelayedRuns:
    boundary = head.spec.get("boundary") or {}
    delays = [d.get("fixed_delay_s") or 0.0 for d in boundary.get("external_dependencies") or ()]
    tasks = head.reading.stored.tasks() if head.reading and head.reading.present else []
    walls = [task["wall_s"] for task in tasks if task["wall_s"] is not None]
    return DelayedRuns(delay_s=sum(delays), wall_s=walls)


def _tolerance(before: DelayedRuns, after: DelayedRuns) -> float:
    """Two standard errors of the difference of the means, within these two starts."""
    spread = [
        variance(runs.wall_s) / len(runs.wall_s) for runs in (before, after) if len(runs.wall_s) > 1
    ]
    return STANDARD_ERRORS * math.sqrt(sum(spread))


def _proofs(
    head: RunHead,
    measures: Mapping[tuple[str, str], Measure],
    outside: OutsideClaim | None,
    reference: Run | None,
) -> Iterator[Proof]:
    boundary, contract = head.spec.get("boundary") or {}, head.spec.get("contract") or {}
    unit = f"spec.json: boundary.sut, contract {contract.get('name')}"
    yield Proof(
        step=Step.boundary_and_unit,
        evidence=unit if boundary.get("sut") and contract.get("name") else "",
        lacking=_("a boundary and a contract in the declaration"),
    )
    whole = measures.get(END_TO_END)
    known = whole is not None and whole.value is not None
    yield Proof(
        step=Step.end_to_end,
        evidence=f"{END_TO_END[0]}: n={whole.n} of {whole.of}" if known and whole else "",
        lacking=_("an end-to-end time on one clock"),
    )
    labelled = _labelled(head)
    yield Proof(
        step=Step.labelled_path,
        evidence=f"{TIMELINE}: {labelled}" if labelled else "",
        lacking=_("attempts with both lanes, each interval labelled"),
    )
    repeat = f"run {reference.pk}: {outside.why}" if outside and reference else ""
    accepted = bool(outside and outside.verdict == "accepted")
    yield Proof(
        step=Step.intervention,
        evidence=repeat if accepted else "",
        lacking=outside.why if outside else _("a repeat with one delay changed"),
    )


def _labelled(head: RunHead) -> str:
    """How many attempts have a path of both sides; their intervals say whether they were measured."""
    path = head.reading.table(TIMELINE) if head.reading else None
    if path is None:
        return ""
    sides = (
        pl.scan_parquet(path)
        .group_by("attempt_id")
        .agg(pl.col("perspective").n_unique().alias("sides"), pl.col("origin").n_unique())
        .select((pl.col("sides") == 2).sum().alias("both"), pl.len().alias("all"))
        .collect()
        .row(0)
    )
    return f"{sides[0]} of {sides[1]} attempts" if sides[0] else ""


def _concluded(found: Triage | None, proofs: list[Proof]) -> tuple[str, str]:
    """(the claim with its chain, "") or ("", why it is a hypothesis)."""
    lead = found.leads[0].rule if found and found.leads else _("time is lost outside the model")
    links = []
    for proof in proofs:
        if not proof.evidence:
            break
        links.append(Link(step=proof.step, evidence=proof.evidence))
    try:
        return conclude(lead, links), ""
    except ClaimRefused as refusal:
        return "", str(refusal)
