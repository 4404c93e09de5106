"""What waits for the reader on the first page: each part of the platform gives a section, or none.

A new kind of thing that waits is one function here, added to ``SECTIONS``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from assay.accounts.access import Access
from assay.ledger.models import Residual
from assay.ledger.shown import newest_interpretations, shown_bundles
from assay.ledger.visibility import visible_runs
from assay.pages import formatting
from assay.regressions.models import Finding
from assay.regressions.queries import visible_findings
from assay.review.queries import reviews_waiting

SHOWN = 6
LAST_RUNS = 50
UNSETTLED = ("open", "acknowledged")
AWAITED = {
    "verdict": gettext_lazy("your verdict"),
    "sign-off": gettext_lazy("your sign-off"),
    "answer": gettext_lazy("your answer"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing to look at: ``word`` is its state, in the platform's own words."""

    text: str
    link: str
    word: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    key: str
    title: str
    note: str
    items: Sequence[Item]
    nothing: str  # what is said when there is no item
    more: int = 0
    all_link: str = ""


def reviews(access: Access) -> Section:
    """What waits for a verdict, a sign-off or an answer of the reader."""
    waiting = reviews_waiting(access)
    return Section(
        key="waiting-reviews",
        title=_("Reviews that wait for you"),
        note="",
        items=[
            Item(
                text=w.review.title,
                link=reverse("review", args=[w.review.pk]),
                word=str(AWAITED.get(w.awaited, w.awaited)),
                note=_("{state}, submitted by {author}").format(
                    state=w.review.state.replace("_", " "), author=w.review.author.get_username()
                ),
            )
            for w in waiting[:SHOWN]
        ],
        nothing=_("No review waits for you."),
        more=max(0, len(waiting) - SHOWN),
        all_link=reverse("reviews"),
    )


def findings(access: Access) -> Section:
    """Confirmed changes that nobody has dealt with yet."""
    found = visible_findings(access).filter(state__in=UNSETTLED).select_related("run__study")
    shown = list(found.defer("run__spec").order_by("-opened_at")[: SHOWN + 1])
    return Section(
        key="findings",
        title=_("Findings"),
        note=_("Confirmed changes of watched metrics."),
        items=[_finding(finding) for finding in shown[:SHOWN]],
        nothing=_("No finding is open."),
        more=found.count() - SHOWN if len(shown) > SHOWN else 0,
        all_link=reverse("schedules"),
    )


def _finding(finding: Finding) -> Item:
    metrics = [str(metric.get("metric", "")) for metric in finding.metrics]
    changes = [metric.get("change") for metric in finding.metrics]
    changed = next((c for c in changes if isinstance(c, int | float)), None)
    run = finding.run
    return Item(
        text=_("{metrics} of {study} #{position}").format(
            metrics=", ".join(metrics), study=run.study.name, position=run.position
        ),
        link=reverse("finding", args=[finding.pk]),
        word="" if changed is None else formatting.relative(changed),
        note=finding.state if not finding.owner else f"{finding.state}, {finding.owner}",
    )


def unexplained(access: Access) -> Section:
    """Residuals of the last runs that no named cause explains, the largest first."""
    runs = visible_runs(access).filter(ended_at__isnull=False).select_related("study")
    ended = list(runs.defer("spec").order_by("-ended_at", "-id")[:LAST_RUNS])
    bundles = shown_bundles(ended)
    readings = newest_interpretations(bundle.digest for bundle in bundles.values())
    of_reading = {
        readings[bundle.digest].pk: run
        for run in ended
        if (bundle := bundles.get(run.id)) is not None and bundle.digest in readings
    }
    found = Residual.objects.filter(
        interpretation__in=list(of_reading), klass="unexplained", relative__isnull=False
    )
    ordered = sorted(found, key=lambda r: (-abs(r.relative or 0.0), r.pk))
    items = []
    for residual in ordered[:SHOWN]:
        run = of_reading[residual.interpretation_id]
        items.append(
            Item(
                text=f"{run.study.name} #{run.position}: {residual.quantity}",
                link=reverse("run-residuals", args=[run.id]),
                word=formatting.relative(residual.relative or 0.0),
                note=_("measured {measured}, predicted {predicted}").format(
                    measured=_shown(residual.measured, residual.unit),
                    predicted=_shown(residual.predicted, residual.unit),
                ),
            )
        )
    return Section(
        key="unexplained",
        title=_("Unexplained residuals"),
        note=_(
            "Measured against what was predicted before the run, over the last {n} runs."
        ).format(n=len(of_reading)),
        items=items,
        nothing=_("No residual of the last runs is without a named cause."),
        more=max(0, len(ordered) - SHOWN),
    )


def _shown(value: float | None, unit: str) -> str:
    return _("unknown") if value is None else str(formatting.quantity(value, unit))


SECTIONS: tuple[Callable[[Access], Section | None], ...] = (
    reviews,
    findings,
    unexplained,
)
