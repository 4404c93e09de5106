"""Teams, and one team with its members and projects."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.http import Http404
from django.utils.translation import gettext as _

from assay.accounts import teams
from assay.accounts.access import Access
from assay.accounts.models import Membership, Project, Role, Team
from assay.pages.forms.teams import MemberForm, ProjectForm


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamListRow:
    team: Team
    members: int
    projects: list[str]
    may_manage: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamPage:
    """The forms are None for whoever may only look."""

    team: Team
    members: list[Membership]
    projects: list[Project]
    roles: Sequence[tuple[str, str]]
    member_form: MemberForm | None
    project_form: ProjectForm | None
    findings: Sequence[object] = field(default=())


def team_rows(access: Access) -> list[TeamListRow]:
    found = teams.visible_teams(access).prefetch_related("memberships", "projects")
    return [
        TeamListRow(
            team=team,
            members=len(team.memberships.all()),
            projects=[project.slug for project in team.projects.all()],
            may_manage=access.everywhere
            or any(
                m.user_id == access.user.pk and m.role == Role.maintainer
                for m in team.memberships.all()
            ),
        )
        for team in found
    ]


def team_for(access: Access, slug: str) -> Team:
    """Raises Http404: a team of others does not exist for whoever is not in it."""
    found = teams.visible_teams(access).filter(slug=slug).first()
    if found is None:
        raise Http404(_("there is no such team here"))
    return found


def team_page(
    access: Access,
    team: Team,
    *,
    member_form: MemberForm | None = None,
    project_form: ProjectForm | None = None,
    findings: Sequence[object] = (),
) -> TeamPage:
    may_manage = teams.may_manage(access, team)
    members = Membership.objects.filter(team=team).select_related("user")
    return TeamPage(
        team=team,
        members=list(members.order_by("user__username")),
        projects=list(Project.objects.filter(team=team).order_by("slug")),
        roles=Role.choices,
        member_form=(member_form or MemberForm()) if may_manage else None,
        project_form=(project_form or ProjectForm()) if may_manage else None,
        findings=findings,
    )
