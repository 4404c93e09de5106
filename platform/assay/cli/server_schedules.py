"""Schedules of a server: added, listed, shown, paused, resumed, fired there; told as they are here."""

import argparse
from typing import Any

from assay.cli.exits import DONE, REFUSED, print_json
from assay.cli.project_choice import chosen_slug
from assay.cli.server_client import Server, ServerProblem
from experiments.errors import Finding

SERVED = ("add", "list", "show", "pause", "resume", "fire")


def schedule(server: Server, arguments: argparse.Namespace) -> int:
    from assay.cli.schedule import print_schedules

    if arguments.action not in SERVED:
        raise ServerProblem([_not_served(arguments.action)], exit_code=REFUSED)
    rows = _DO[arguments.action](server, arguments)
    if arguments.json:
        print_json({"schedules": rows})
    else:
        print_schedules(rows)
    return DONE


def schedule_named(server: Server, name: str | None) -> dict[str, Any]:
    """The one schedule of that name, or of that id. Raises ServerProblem."""
    found: list[dict[str, Any]] = []
    for page in server.pages("/schedules", "schedules", size=200):
        found += [row for row in page["schedules"] if (name or "") in (row["schedule"], row["id"])]
    if len(found) == 1:
        return found[0]
    allowed = "the name of one schedule there, or its id"
    if found:
        allowed = "one of " + ", ".join(f"{row['id']} ({row['project']})" for row in found)
    finding = Finding(
        field="schedule",
        seen=name or "none",
        allowed=allowed,
        remedy="`assay schedule list` prints them.",
    )
    raise ServerProblem([finding], exit_code=REFUSED)


def _list(server: Server, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    pages = server.pages("/schedules", "schedules", size=200)
    return [row for page in pages for row in page["schedules"]]


def _show(server: Server, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    row = schedule_named(server, arguments.name)
    firings = server.get(f"/schedules/{row['id']}/firings", size=25)["firings"]
    return [{**row, "answers": [answer for one in firings for answer in one["answers"]]}]


def _add(server: Server, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    begin, _, end = arguments.quiet.partition("-")
    wanted = {
        "name": arguments.name or "",
        "overrides": arguments.overrides,
        "project": chosen_slug(arguments),
        "cron": arguments.cron,
        "zone": arguments.zone or "UTC",
        "on_engine_version": arguments.on_engine_version,
        "variable": arguments.variable,
        "against": arguments.against or "newest",
        "missed": arguments.missed or "newest",
        "quiet_from": begin.strip() or None,
        "quiet_to": end.strip() or None,
        "watches": arguments.watch,
    }
    return [server.post("/schedules", wanted)]


def _step(server: Server, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    row = schedule_named(server, arguments.name)
    return [server.post(f"/schedules/{row['id']}/{arguments.action}")]


def _fire(server: Server, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    row = schedule_named(server, arguments.name)
    fired = server.post(f"/schedules/{row['id']}/fire")
    return [{**row, "fired": {name: fired[name] for name in ("state", "study", "note", "firing")}}]


_DO = {
    "add": _add,
    "list": _list,
    "show": _show,
    "pause": _step,
    "resume": _step,
    "fire": _fire,
}


def _not_served(action: str) -> Finding:
    return Finding(
        field="schedule",
        seen=action,
        allowed=", ".join(SERVED),
        remedy="Do it on the server's page of the schedule, or on that machine.",
    )
