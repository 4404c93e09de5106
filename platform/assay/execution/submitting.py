"""Queue a study for the workers: the same steps whether it came from the command line, a page or the API."""

import os
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.conf import settings

from assay.archive.paths import Home
from assay.execution import preparing, reaper
from assay.execution.declaring import create_study
from assay.execution.nudging import nudge
from assay.execution.preparing import Prepared
from assay.ledger.models import Run, Study
from experiments.checks.policy import Policy
from experiments.errors import Refusal
from experiments.identity import canonical, spec_digest
from experiments.migrations import migrate
from experiments.plan import RunSpec, check


def refused_here(specs: Sequence[RunSpec]) -> Prepared | None:
    """The first declaration that could not start here, or None. Nothing is written.

    Pins are compared with the bytes on disk only where the workers are this machine's; elsewhere the worker
    does it before it launches.
    """
    if settings.REDIS_URL is not None:
        return None
    return preparing.check([(s.document, s.digest) for s in specs], home=Home(settings.HOME))


def queue_study(
    specs: Sequence[RunSpec],
    *,
    overrides: Sequence[str],
    owner: str,
    project_id: UUID,
    study_id: UUID | None = None,
) -> Study:
    """Write the study with its runs and tell the workers. Raises IntegrityError if ``study_id`` is there."""
    reaper.expire()
    study = create_study(
        specs, overrides=overrides, owner=owner, project_id=project_id, study_id=study_id
    )
    for queue in sorted(set(study.runs.values_list("queue", flat=True))):
        nudge(queue)
    return study


def queued(study: Study) -> dict[str, Any]:
    """What `assay submit --json` says of a new study."""
    runs = [
        {"run": str(r.id), "state": r.state, "spec_digest": r.spec_digest}
        for r in study.runs.order_by("position", "repetition")
    ]
    return {"study": str(study.id), "runs": runs}


def once_more(run: Run) -> RunSpec:
    """A run's declaration as the next repetition of it. Raises Refusal if it no longer holds as written."""
    document = migrate(run.spec)
    if findings := check(document, policy=Policy.from_environment(os.environ)):
        raise Refusal(findings)
    return RunSpec(
        text=canonical(document),
        digest=spec_digest(document),
        variables=dict(run.variables),
        overrides=(),
        choices={},
        cell=0,
        repetition=run.repetition + 1,
        position=0,
    )
