"""Write a planned study into the database."""

from collections.abc import Sequence

from assay.ledger import services as ledger
from assay.ledger.models import Study
from assay.ledger.services import Declaration, PlannedRun
from experiments.plan import RunSpec


def create_study(
    specs: Sequence[RunSpec], *, overrides: Sequence[str], owner: str, reserved_by: str = ""
) -> Study:
    """The study and its queued runs. ``reserved_by`` keeps them for one worker (an inline run)."""
    study = specs[0].document["study"]
    declaration = Declaration(
        name=study["name"],
        title=study["title"],
        question=study["question"],
        tags=study["tags"],
        overrides=overrides,
        order_seed=study["seed"],
        owner=owner,
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
