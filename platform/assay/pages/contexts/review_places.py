"""Where the places are that threads are about: the page of a run, and the spot in it."""

from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from assay.review.anchors import PARTS, Anchor, AnchorKind

NAMES = {
    AnchorKind.run: _("the run"),
    AnchorKind.statement: _("the statement"),
    AnchorKind.measure: _("measure"),
    AnchorKind.ledger_row: _("ledger row"),
    AnchorKind.residual: _("residual"),
    AnchorKind.gap: _("gap"),
    AnchorKind.chart: _("chart"),
    AnchorKind.cell: _("cell"),
    AnchorKind.rule: _("metric rule"),
    AnchorKind.file: _("file"),
}
_PAGES = {
    AnchorKind.measure: "run-latency",
    AnchorKind.residual: "run-residuals",
    AnchorKind.gap: "run-evidence",
    AnchorKind.cell: "run-identity",
    AnchorKind.file: "run-files",
}


def place_url(run_id: UUID, anchor: Anchor) -> str:
    """The very place in the run's pages."""
    if anchor.kind is AnchorKind.rule:
        return f"{reverse('rules')}#{anchor.key}"
    if anchor.kind is AnchorKind.ledger_row:
        page = reverse("run-attempt", args=[run_id, anchor.key])
    elif anchor.kind is AnchorKind.chart:
        page = reverse(f"run-{anchor.key.partition('/')[0]}", args=[run_id])
    elif anchor.kind in _PAGES:
        page = reverse(_PAGES[anchor.kind], args=[run_id])
    else:
        return reverse("run", args=[run_id])
    return f"{page}#{anchor.fragment}"


def discuss_url(run_id: UUID, anchor: Anchor) -> str:
    """Where a thread about that place is read, or begun."""
    page = reverse("run-discussion", args=[run_id])
    return f"{page}?{urlencode({'kind': anchor.kind.value, 'key': anchor.key})}"


def place_words(anchor: Anchor) -> str:
    """``gap: no server record``; empty parts of a key are left out."""
    key = ", ".join(part for part in anchor.key.split(PARTS) if part)
    name = str(NAMES[anchor.kind])
    return f"{name}: {key}" if key else name
