"""Tell whoever asked that a run has ended: after its end is committed, and never in its way."""

from uuid import UUID

from django.db import transaction

from assay.ledger.models import Run
from assay.notifications.models import Event
from assay.notifications.services import notify


def run_ended(run_id: UUID) -> None:
    """Queue the messages once the running transaction is through; an error of theirs changes nothing."""
    transaction.on_commit(lambda: _tell(run_id), robust=True)


def _tell(run_id: UUID) -> None:
    run = Run.objects.select_related("study__project").get(id=run_id)
    repetition = f" repetition {run.repetition}" if run.repetition else ""
    notify(
        Event.run_ended,
        run.study.project.id,
        f"{run.study.name} #{run.position}{repetition} is {run.state}",
        f"/runs/{run.id}",
    )
