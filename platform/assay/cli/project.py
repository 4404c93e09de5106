"""``assay project``: what studies are put in; a team's members see them."""

import argparse
from typing import TYPE_CHECKING, Any

from assay.cli.database import open_or_complain
from assay.cli.exits import DONE, print_json, refuse
from experiments.errors import Refusal

if TYPE_CHECKING:
    from assay.accounts.models import Project

HELP = "Add a project to a team (`add SLUG --team TEAM`), or list projects."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("add", "list"))
    parser.add_argument("project", nargs="?", help="add: the short name")
    parser.add_argument("--team", default="main", help="add: whose it is (default: main)")
    parser.add_argument("--name", default="", help="add: the full name")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(arguments: argparse.Namespace) -> int:
    if (code := open_or_complain()) is not None:
        return code
    try:
        found = _list() if arguments.action == "list" else [_project(_added(arguments))]
    except Refusal as refusal:
        return refuse(refusal.findings, as_json=arguments.json)
    if arguments.json:
        print_json({"projects": found})
    else:
        for row in found:
            print(f"{row['project']}  team {row['team']}  {row['name']}")  # noqa: T201
    return DONE


def _added(arguments: argparse.Namespace) -> "Project":
    from assay.accounts import projects, teams

    team = teams.team_named(arguments.team)
    return projects.add_project(team, arguments.project or "", name=arguments.name)


def _list() -> list[dict[str, Any]]:
    from assay.accounts.models import Project

    return [_project(p) for p in Project.objects.select_related("team").order_by("slug")]


def _project(project: "Project") -> dict[str, Any]:
    return {"project": project.slug, "name": project.name, "team": project.team.slug}
