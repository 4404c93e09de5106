"""``assay account``: the people of an installation, who sign in by name and password."""

import argparse
from typing import TYPE_CHECKING, Any

from assay.cli.database import open_or_complain
from assay.cli.exits import DONE, print_json, refuse
from assay.cli.secret_input import new_password
from experiments.errors import Refusal

if TYPE_CHECKING:
    from django.contrib.auth.models import User

HELP = (
    "Add people, list them, set a password, shut somebody out or let them in again. Passwords are typed, or "
    "read from standard input."
)
ACTIONS = ("add", "list", "password", "disable", "enable")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=ACTIONS)
    parser.add_argument("name", nargs="?", help="who; not for list")
    parser.add_argument("--email", default="", help="add: where messages go")
    parser.add_argument("--administrator", action="store_true", help="add: sees every project")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(arguments: argparse.Namespace) -> int:
    if (code := open_or_complain()) is not None:
        return code
    try:
        found = _list() if arguments.action == "list" else [_changed(arguments)]
    except Refusal as refusal:
        return refuse(refusal.findings, as_json=arguments.json)
    if arguments.json:
        print_json({"accounts": found})
    else:
        for row in found:
            print(_worded(row))  # noqa: T201
    return DONE


def _changed(arguments: argparse.Namespace) -> dict[str, Any]:
    from assay.accounts import people

    name = arguments.name or ""
    if arguments.action == "add":
        add = people.add_administrator if arguments.administrator else people.add_person
        return account(add(name, email=arguments.email, password=new_password()))
    user = people.person(name)
    if arguments.action == "password":
        people.set_password(user, new_password())
    elif arguments.action == "disable":
        people.disable(user)
    else:
        people.enable(user)
    return account(user)


def _list() -> list[dict[str, Any]]:
    from django.contrib.auth.models import User

    people = User.objects.order_by("username").prefetch_related("memberships__team")
    return [account(user) for user in people]


def account(user: "User") -> dict[str, Any]:
    """What is said of a person; nothing that would let anybody in."""
    return {
        "name": user.get_username(),
        "email": user.email or None,
        "active": user.is_active,
        "administrator": user.is_superuser,
        "has_password": user.has_usable_password(),
        "teams": {m.team.slug: m.role for m in user.memberships.all()},
        "last_signed_in": user.last_login.isoformat() if user.last_login else None,
    }


def _worded(row: dict[str, Any]) -> str:
    teams = ", ".join(f"{team} {role}" for team, role in row["teams"].items()) or "in no team"
    marks = [
        "administrator" if row["administrator"] else "",
        "" if row["active"] else "disabled",
        "" if row["has_password"] else "no password",
    ]
    return "  ".join([row["name"], teams, *filter(None, marks)])
