"""What every page of a run begins with: which run, in which state, and where its data lie."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_lazy as _

from assay.analysis.boundary import mocked
from assay.analysis.documents import GradeDocument
from assay.ledger.models import Bundle, Interpretation, Run
from assay.ledger.shown import shown_bundles
from assay.pages import words
from assay.pages.grades import grade_of
from assay.pages.reading import BundleFolder, Reading, bundle_folder, reading_of

TABS = (
    ("run", _("Overview")),
    ("run-identity", _("Identity")),
    ("run-timeline", _("Timeline")),
    ("run-ledgers", _("Ledgers")),
    ("run-latency", _("Latency")),
    ("run-residuals", _("Residuals")),
    ("run-diagnosis", _("Diagnosis")),
    ("run-evidence", _("Evidence and gaps")),
    ("run-files", _("Files")),
    ("run-log", _("Session log")),
    ("run-discussion", _("Discussion")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHead:
    """A run with the bundle and interpretation it shows; both are None until there are any."""

    run: Run
    bundle: Bundle | None
    interpretation: Interpretation | None
    tab: str

    @property
    def tabs(self) -> list[tuple[str, str, bool]]:
        return [(name, str(label), name == self.tab) for name, label in TABS]

    @property
    def live(self) -> bool:
        return self.run.state in words.LIVE_STATES

    @property
    def state_meaning(self) -> str:
        return str(words.RUN_STATES.get(self.run.state, ""))

    @property
    def took(self) -> timedelta | None:
        run = self.run
        return run.ended_at - run.started_at if run.ended_at and run.started_at else None

    @property
    def short_id(self) -> str:
        return str(self.run.pk)[-12:]

    @property
    def spec(self) -> dict[str, Any]:
        return dict(self.run.spec)

    @property
    def mocked(self) -> tuple[str, ...]:
        """Dependencies whose variability lay outside the experiment; every page of the run says so."""
        return mocked(self.spec.get("boundary") or {})

    @property
    def reading(self) -> Reading | None:
        return reading_of(self.interpretation) if self.interpretation else None

    @property
    def folder(self) -> BundleFolder | None:
        return bundle_folder(self.bundle) if self.bundle else None

    @property
    def grade(self) -> GradeDocument | None:
        return grade_of(self.interpretation) if self.interpretation else None

    @property
    def why_no_reading(self) -> str:
        """Why there is nothing derived to show, or an empty string when there is."""
        if self.live:
            return str(_("The run has not ended; its numbers are drawn once its bundle is sealed."))
        if self.bundle is None:
            return str(_("There is no sealed bundle: nothing was recorded that could be read."))
        if self.interpretation is None:
            return str(_("The bundle is sealed and waits to be interpreted."))
        if self.reading is None or not self.reading.present:
            return str(_("The derived files of this interpretation are not on this machine."))
        return ""

    @property
    def why_no_start(self) -> str:
        if self.bundle is not None and self.bundle.imported:
            return str(_("it ran elsewhere, and its record does not say"))
        return str(_("not started"))

    @property
    def why_no_artifact(self) -> str:
        if self.live:
            return str(_("not verified yet"))
        return str(_("its bytes were never verified"))

    @property
    def why_unknown(self) -> str:
        """The same as what follows ``unknown:``."""
        return self.why_no_reading[:1].lower() + self.why_no_reading[1:]


def run_head(run_id: UUID, tab: str) -> RunHead:
    """Raises Http404 when there is no such run. Three queries."""
    run = get_object_or_404(Run.objects.select_related("study__project", "artifact"), pk=run_id)
    bundle = shown_bundles([run]).get(run.pk)
    interpretation = None
    if bundle is not None:
        interpretation = bundle.interpretations.order_by("-created_at", "-pk").first()
    return RunHead(run=run, bundle=bundle, interpretation=interpretation, tab=tab)
