"""``assay team``: teams, and who is in them as what."""

import argparse
from typing import TYPE_CHECKING, Any

from assay.cli.database import open_or_complain
from assay.cli.exits import DONE, print_json, refuse
from experiments.errors import Refusal
from experiments.errors import refuse as refusal_of

if TYPE_CHECKING:
    from assay.accounts.models import Team

HELP = (
    "Add a team, list teams, put somebody into one (`join TEAM NAME --role author`) or out of it."
)
ACTIONS = ("add", "list", "join", "leave")
ROLES = ("viewer", "author", "reviewer", "maintainer")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=ACTIONS)
    parser.add_argument("team", nargs="?", help="the team's short name; not for list")
    parser.add_argument("person", nargs="?", help="join, leave: who")
    parser.add_argument("--role", choices=ROLES, default="viewer", help="join: as what")
    parser.add_argument("--name", default="", help="add: the full name")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(arguments: argparse.Namespace) -> int:
    if (code := open_or_complain()) is not None:
        return code
    try:
        found = _list() if arguments.action == "list" else [_team(_changed(arguments))]
    except Refusal as refusal:
        return refuse(refusal.findings, as_json=arguments.json)
    if arguments.json:
        print_json({"teams": found})
    else:
        for row in found:
            members = ", ".join(f"{who} {role}" for who, role in row["members"].items())
            print(f"{row['team']}  {members or 'no members'}")  # noqa: T201
    return DONE


def _changed(arguments: argparse.Namespace) -> "Team":
    from assay.accounts import people, teams
    from assay.accounts.models import Role

    if arguments.action == "add":
        return teams.add_team(arguments.team or "", name=arguments.name)
    team = teams.team_named(arguments.team or "")
    if not arguments.person:
        raise refusal_of(
            field="person",
            seen="nobody",
            allowed="a name after the team's",
            remedy="`assay account list` shows who there is.",
        )
    person = people.person(arguments.person)
    if arguments.action == "join":
        teams.join(team, person, Role(arguments.role))
    else:
        teams.leave(team, person)
    return team


def _list() -> list[dict[str, Any]]:
    from assay.accounts.models import Team

    return [_team(team) for team in Team.objects.order_by("slug")]


def _team(team: "Team") -> dict[str, Any]:
    members = team.memberships.select_related("user").order_by("user__username")
    return {
        "team": team.slug,
        "name": team.name,
        "members": {m.user.get_username(): m.role for m in members},
        "projects": list(team.projects.order_by("slug").values_list("slug", flat=True)),
    }
