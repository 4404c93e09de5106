"""The first screen of a run: what was run, what came out, what limits it."""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from assay.analysis.documents import LEDGERS, GradeDocument, Reconciliation, RunReading
from assay.ledger.models import GapEntry, LedgerCount, Measure, Residual
from assay.ledger.shown import preferred
from assay.pages import formatting, words
from assay.pages.contexts.head import RunHead
from assay.pages.contexts.measures import FIGURES, MeasureLine, measure_line
from assay.pages.contexts.residuals import residual_lines
from assay.pages.residual_line import ResidualLine

SHOWN_GAPS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One line of what was run. ``code`` values are digests and ids."""

    label: str
    value: str
    link: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BarPart:
    tone: str
    x: str
    width: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerSummary:
    name: str
    question: str
    states: list[tuple[str, int]]
    total: int

    @property
    def bar(self) -> list[BarPart]:
        """The states as parts of a bar of length 100."""
        parts, at = [], 0.0
        for index, (state, count) in enumerate(self.states):
            width = 100 * count / self.total if self.total else 0
            tone = words.tone(state)
            shown = tone if tone != "plain" else ("first" if index == 0 else "other")
            parts.append(BarPart(tone=shown, x=f"{at:.3f}", width=f"{width:.3f}"))
            at += width
        return parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the reader must hold against the numbers."""

    level: str
    level_meaning: str
    grade: (
        GradeDocument | None
    )  # of the client's figures; None in a reading from before there were grades
    identity_missing: list[str] | None  # labels; None while unknown
    gaps: list[GapEntry]
    more_gaps: int
    nearest_bound: ResidualLine | None
    outside_range: list[ResidualLine]

    @property
    def times(self) -> str:
        """How many times its bound the nearest quantity took."""
        nearest = self.nearest_bound
        return formatting.significant(nearest.times_bound or 0) if nearest else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    ran: list[Fact]
    figures: list[MeasureLine]
    ledgers: list[LedgerSummary]
    reconciliation: Reconciliation | None
    limits: Limits | None


def overview(head: RunHead) -> Overview:
    reading = head.interpretation
    if reading is None:
        return Overview(
            ran=what_was_run(head.spec), figures=[], ledgers=[], reconciliation=None, limits=None
        )
    measures = preferred(Measure.objects.filter(interpretation=reading).order_by("pk"))
    document = head.reading.document() if head.reading else None
    return Overview(
        ran=what_was_run(head.spec),
        figures=_figures(measures),
        ledgers=ledger_summaries(list(LedgerCount.objects.filter(interpretation=reading))),
        reconciliation=document["reconciliation"] if document else None,
        limits=_limits(
            head, document, residual_lines(Residual.objects.filter(interpretation=reading))
        ),
    )


def ledger_summaries(counts: list[LedgerCount]) -> list[LedgerSummary]:
    summaries = []
    for ledger in LEDGERS:
        states = {c.state: c.count for c in counts if c.ledger == ledger}
        summaries.append(
            LedgerSummary(
                name=ledger,
                question=str(words.LEDGER_QUESTIONS[ledger]),
                states=words.in_order(ledger, states),
                total=sum(states.values()),
            )
        )
    return summaries


def _figures(measures: dict[tuple[str, str], Measure]) -> list[MeasureLine]:
    found = ((figure, measures.get((figure.rule, figure.statistic))) for figure in FIGURES)
    return [measure_line(measure, figure) for figure, measure in found if measure]


def _limits(head: RunHead, document: RunReading | None, residuals: list[ResidualLine]) -> Limits:
    assert head.bundle is not None
    gaps = list(
        GapEntry.objects.filter(interpretation=head.interpretation, state="open").order_by("pk")
    )
    identity = head.folder.identity() if head.folder else None
    missing = None
    if identity is not None:
        missing = [str(words.IDENTITY_LABELS.get(i, i)) for i in identity["missing"]]
    bounded = [r for r in residuals if r.unit == "s" and (r.times_bound or 0) >= 1]
    return Limits(
        level=head.bundle.level,
        level_meaning=str(words.LEVEL_MEANING.get(head.bundle.level, "")),
        grade=document.get("grade") if document else None,
        identity_missing=missing,
        gaps=gaps[:SHOWN_GAPS],
        more_gaps=max(0, len(gaps) - SHOWN_GAPS),
        nearest_bound=min(bounded, key=lambda r: r.times_bound or 0, default=None),
        outside_range=[r for r in residuals if r.inside is False and not r.is_coverage],
    )


def what_was_run(spec: dict[str, Any]) -> list[Fact]:
    """The declaration in a few lines of words; the whole of it is on the identity page."""
    facts = [
        Fact(label=str(label), value=value)
        for label, words_of in _LINES
        if (value := words_of(spec))
    ]
    return facts


def _workload(spec: dict[str, Any]) -> str:
    workload = spec.get("workload") or {}
    if not workload:
        return ""
    shape = _("{requests} requests of {inputs} tokens in, {outputs} out").format(
        requests=workload.get("requests"),
        inputs=workload.get("input_tokens"),
        outputs=workload.get("output_tokens"),
    )
    return f"{shape} ({workload.get('name')})"


def _cases(spec: dict[str, Any]) -> str:
    cases = (spec.get("workload") or {}).get("cases") or []
    return ", ".join(str(case.get("name")) for case in cases)


def _load(spec: dict[str, Any]) -> str:
    load = spec.get("load") or {}
    kind = load.get("kind")
    if kind == "closed":
        return _("closed loop, {n} at a time").format(n=load.get("concurrency"))
    if kind:
        return _("open loop, {kind}, {rate} request/s").format(
            kind=kind, rate=load.get("rate_per_s")
        )
    return ""


def _contract(spec: dict[str, Any]) -> str:
    contract = spec.get("contract") or {}
    if not contract:
        return ""
    slo = contract.get("slo") or {}
    parts = [str(contract.get("name"))]
    parts += [f"{key.removesuffix('_s').upper()} ≤ {slo[key]} s" for key in sorted(slo) if slo[key]]
    if contract.get("deadline_s"):
        parts.append(_("deadline {s} s").format(s=contract["deadline_s"]))
    return ", ".join(parts)


def _boundary(spec: dict[str, Any]) -> str:
    return str((spec.get("boundary") or {}).get("sut") or "")


_LINES = (
    (gettext_lazy("Workload"), _workload),
    (gettext_lazy("Archive cases"), _cases),
    (gettext_lazy("Load"), _load),
    (gettext_lazy("Contract"), _contract),
    (gettext_lazy("System under test"), _boundary),
)
