"""Everybody who may ask: by role in the main team, from another team, and nobody at all."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.test import Client

from assay.accounts.models import Action, Project, Role, Team
from assay.accounts.services import issue_token, join, main_project

# What each may do to the things of the main team; written out here, so that a change there is noticed.
MAY: Mapping[str, frozenset[str]] = {
    "viewer": frozenset({"view"}),
    "author": frozenset({"view", "write"}),
    "reviewer": frozenset({"view", "write", "review"}),
    "maintainer": frozenset({"view", "write", "review", "manage"}),
    "other team": frozenset(),
}
EVERYBODY = (*MAY, "anonymous")


@dataclass(frozen=True, slots=True)
class Need:
    """What an address takes. ``of_team``: it names something of a team, which is nothing to others."""

    action: str
    of_team: bool

    def expected(self, caller: str) -> str:
        """``let in``, ``forbidden``, ``not there`` or ``sign in``."""
        if caller == "anonymous":
            return "sign in"
        if not self.of_team:
            own = MAY["maintainer"] if caller == "other team" else MAY[caller]
            return "let in" if self.action in own else "forbidden"
        if caller == "other team":
            return "not there"
        return "let in" if self.action in MAY[caller] else "forbidden"


def user(caller: str) -> User:
    """Of another team they are maintainer, of a project that is all theirs."""
    found, _ = User.objects.get_or_create(username=caller.replace(" ", "-"))
    if caller == "other team":
        team, _ = Team.objects.get_or_create(slug="other", defaults={"name": "Other"})
        Project.objects.get_or_create(slug="theirs", defaults={"name": "Theirs", "team": team})
        join(team, found, Role.maintainer)
    else:
        join(main_project().team, found, Role(caller))
    return found


def browser(caller: str) -> Client:
    client = Client()
    if caller != "anonymous":
        client.force_login(user(caller))
    return client


def with_token(caller: str, scopes: tuple[str, ...] = tuple(Action.values)) -> Client:
    if caller == "anonymous":
        return Client()
    issued = issue_token(user(caller), name="test", scopes=[Action(s) for s in scopes])
    return Client(headers={"Authorization": f"Bearer {issued.secret}"})


def met(status: int, location: str = "") -> str:
    """What a status code comes to."""
    if status == 401 or location.startswith("/login/"):
        return "sign in"
    words = {403: "forbidden", 404: "not there", 405: "no such method"}
    return words.get(status, "let in" if status < 500 else f"broken: {status}")
