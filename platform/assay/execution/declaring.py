"""Write a planned study into the database."""

from collections.abc import Sequence
from uuid import UUID

from assay.accounts.models import MAIN_PROJECT
from assay.ledger import services as ledger
from assay.ledger.models import Study
from assay.ledger.services import Declaration, PlannedRun
from experiments.plan import RunSpec


def create_study(
    specs: Sequence[RunSpec],
    *,
    overrides: Sequence[str],
    owner: str,
    project_id: UUID = MAIN_PROJECT,
    study_id: UUID | None = None,
    reserved_by: str = "",
) -> Study:
    """The study and its queued runs. ``reserved_by`` keeps them for one worker (an inline run).

    ``study_id`` is an id given out before, so that the same wish is never queued twice.
    """
    study = specs[0].document["study"]
    declaration = Declaration(
        name=study["name"],
        title=study["title"],
        question=study["question"],
        tags=study["tags"],
        overrides=overrides,
        order_seed=study["seed"],
        owner=owner,
        project_id=project_id,
        study_id=study_id,
    )
    runs = [
        PlannedRun(
            spec=s.document,
            spec_digest=s.digest,
            position=s.position,
            repetition=s.repetition,
            variables=s.variables,
        )
        for s in specs
    ]
    return ledger.create_study(declaration, runs, reserved_by=reserved_by)
