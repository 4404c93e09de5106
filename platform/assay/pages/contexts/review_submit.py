"""What the page that submits runs for review shows: the runs that can be, and those that cannot, with why."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from assay.accounts.access import Access
from assay.accounts.models import Action
from assay.ledger.models import Run
from assay.ledger.visibility import visible_runs
from assay.review.models import Review
from assay.review.queries import visible_reviews
from assay.review.rights import possible_reviewers, project_of
from assay.review.submitting import MOST_RUNS, Submission, submittable
from experiments.errors import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    run: Run
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitPage:
    choices: list[Choice]
    left_out: list[Run]  # asked for, and not sealed or not interpreted
    able: list[str]
    submission: Submission
    supersedes: Review | None
    refused: Sequence[Finding] = field(default=())


def submit_page(
    access: Access, submission: Submission, *, study: UUID | None, refused: Sequence[Finding] = ()
) -> SubmitPage:
    """``study`` offers all of its runs; without one the asked runs alone."""
    runs = visible_runs(access).select_related("study__project")
    runs = runs.filter(study=study) if study else runs.filter(id__in=list(submission.runs))
    found = list(runs.order_by("study", "position", "repetition")[:MOST_RUNS])
    ready = submittable(found)
    wanted = set(submission.runs) or ready
    writable = [r for r in found if access.may(Action.write, project_of(r.study))]
    projects = {run.study.project for run in writable}
    own = {access.user.get_username(), *(run.study.owner for run in writable)}
    names = {u.get_username() for project in projects for u in possible_reviewers(project)}
    old = submission.supersedes and visible_reviews(access).filter(id=submission.supersedes).first()
    return SubmitPage(
        choices=[Choice(run=r, chosen=r.id in wanted) for r in writable if r.id in ready],
        left_out=[run for run in found if run.id not in ready],
        able=sorted(names - own),
        submission=submission,
        supersedes=old or None,
        refused=refused,
    )
