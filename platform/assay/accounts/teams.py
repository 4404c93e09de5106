"""Teams: making them, who is in which as what, and who may change that."""

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from assay.accounts import services
from assay.accounts.access import Access
from assay.accounts.models import Action, Membership, Role, Team
from assay.accounts.slugs import checked_slug
from experiments.errors import refuse


def add_team(slug: str, *, name: str = "") -> Team:
    """Raises Refusal for a name that is taken or cannot stand in an address."""
    return Team.objects.create(
        slug=checked_slug("team", slug, taken=Team.objects.filter(slug=slug)), name=name or slug
    )


def team_named(slug: str) -> Team:
    """Raises Refusal with the teams that there are."""
    found = Team.objects.filter(slug=slug).first()
    if found is None:
        known = Team.objects.order_by("slug").values_list("slug", flat=True)
        raise refuse(
            field="team",
            seen=slug,
            allowed=f"one of {', '.join(known)}",
            remedy="`assay team add SLUG` makes one.",
        )
    return found


def visible_teams(access: Access) -> QuerySet[Team]:
    """The teams somebody is in; all of them for whoever runs the installation."""
    teams = Team.objects.order_by("slug")
    if Action.view not in access.scopes or access.user.pk is None:
        return teams.none()
    return teams if access.everywhere else teams.filter(memberships__user_id=access.user.pk)


def may_manage(access: Access, team: Team) -> bool:
    """Maintainers, whether the team has projects or none, and whoever runs the installation."""
    if Action.manage not in access.scopes or access.user.pk is None:
        return False
    own = Membership.objects.filter(team=team, user_id=access.user.pk, role=Role.maintainer)
    return access.everywhere or own.exists()


@transaction.atomic
def join(team: Team, user: User, role: Role) -> Membership:
    """Put somebody into a team, or change what they are in it. A team with members keeps a maintainer."""
    if role is not Role.maintainer:
        _check_not_the_last_maintainer(team, user)
    return services.join(team, user, role)


@transaction.atomic
def leave(team: Team, user: User) -> None:
    """Raises Refusal for somebody who is not in the team, and for its last maintainer while others are."""
    _check_not_the_last_maintainer(team, user)
    if not Membership.objects.filter(team=team, user=user).delete()[0]:
        names = Membership.objects.filter(team=team).values_list("user__username", flat=True)
        raise refuse(
            field="member",
            seen=user.get_username(),
            allowed=f"one of {', '.join(names) or 'nobody: the team is empty'}",
            remedy="Nothing was changed.",
        )


def _check_not_the_last_maintainer(team: Team, user: User) -> None:
    maintainers = Membership.objects.filter(team=team, role=Role.maintainer)
    others = Membership.objects.filter(team=team).exclude(user=user)
    is_one = maintainers.filter(user=user).exists()
    if is_one and others.exists() and not others.filter(role=Role.maintainer).exists():
        raise refuse(
            field="role",
            seen=f"{user.get_username()} is the only maintainer of {team.slug}",
            allowed="a team with a maintainer as long as it has members",
            remedy="Make somebody else a maintainer first.",
        )
