"""Which right each step of a review needs. Services ask here too, whatever surface called them."""

from uuid import UUID

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied

from assay.accounts.access import ALLOWED, Access
from assay.accounts.models import Action, Membership, Project, Role
from assay.ledger.models import Study
from assay.review.process import Step

NEEDS: dict[Step, Action] = {
    Step.submit: Action.write,
    Step.ask: Action.write,
    Step.answer_item: Action.write,
    Step.accept_gap: Action.review,
    Step.approve: Action.review,
    Step.request_changes: Action.review,
    Step.reject: Action.review,
    Step.answer_changes: Action.write,
    Step.sign_off: Action.review,
    Step.withdraw: Action.write,
    Step.supersede: Action.write,
    Step.retract: Action.manage,
}


def must(access: Access, action: Action, project_id: UUID) -> User:
    """Who acts, if they may. Raises PermissionDenied."""
    if not access.may(action, project_id) or not isinstance(access.user, User):
        raise PermissionDenied(action.value)
    return access.user


def project_of(study: Study) -> UUID:
    assert study.project_id is not None  # the column is not null; its default makes the type say so
    return study.project_id


def possible_reviewers(project: Project) -> list[User]:
    """The members of the project's team who may review, by name."""
    roles = [role.value for role in Role if Action.review in ALLOWED[role]]
    members = Membership.objects.filter(team=project.team_id, role__in=roles, user__is_active=True)
    return list(User.objects.filter(memberships__in=members).order_by("username").distinct())
