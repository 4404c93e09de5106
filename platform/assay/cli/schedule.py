"""``assay schedule``: studies that are run again and again, and what is watched of them."""

import argparse
from datetime import time
from typing import TYPE_CHECKING, Any

from assay.cli import project_choice
from assay.cli.database import open_or_complain, owner
from assay.cli.exits import DONE, print_json, refuse
from experiments.errors import Refusal
from experiments.errors import refuse as refusal_of

if TYPE_CHECKING:
    from assay.regressions.models import Schedule

HELP = "Schedules of studies: add, change, list, show, pause, resume, fire, approve, pin."
ACTIONS = ("add", "change", "list", "show", "pause", "resume", "fire", "approve", "pin")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=ACTIONS)
    parser.add_argument("name", nargs="?", help="the schedule")
    parser.add_argument(
        "overrides", nargs="*", metavar="OVERRIDE", help="add, change: study=NAME, ..."
    )
    parser.add_argument("--cron", default="", help='add: "30 2 * * 1-5"; without it, on demand')
    parser.add_argument("--zone", default="", help="add: time zone of the cron expression (UTC)")
    parser.add_argument(
        "--on-engine-version", action="store_true", help="add: when a new version is installed"
    )
    parser.add_argument("--variable", default="", help="add: the one field that may move")
    parser.add_argument(
        "--missed", choices=("skip", "newest", "all"), help="add: late slots (newest)"
    )
    parser.add_argument(
        "--against",
        choices=("newest", "approved", "pinned", "rolling"),
        help="add: which baseline (newest); rolling goes silent on a level shift",
    )
    parser.add_argument("--reason", default="", help="approve, pin: why this level is right")
    parser.add_argument("--starts", type=int, default=12, help="pin: how many of the newest starts")
    parser.add_argument(
        "--quiet", default="", metavar="HH:MM-HH:MM", help="add: start nothing then"
    )
    parser.add_argument(
        "--watch",
        action="append",
        default=[],
        metavar="RULE:STATISTIC:less|more",
        help="add; outputs.token_ids:equal watches a deterministic mode",
    )
    project_choice.add_argument(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(arguments: argparse.Namespace) -> int:
    if (code := open_or_complain()) is not None:
        return code
    try:
        document = _DO[arguments.action](arguments)
    except Refusal as refusal:
        return refuse(refusal.findings, as_json=arguments.json)
    if arguments.json:
        print_json(document)
    else:
        print_schedules(document["schedules"])
    return DONE


def named(name: str | None) -> "Schedule":
    """Raises Refusal with the schedules there are."""
    from assay.regressions.models import Schedule

    found = Schedule.objects.filter(name=name or "").first()
    if found is None:
        known = ", ".join(Schedule.objects.order_by("name").values_list("name", flat=True))
        raise refusal_of(
            field="schedule",
            seen=name or "none",
            allowed=known or "none yet",
            remedy="Add one: assay schedule add NAME study=...",
        )
    return found


def _add(arguments: argparse.Namespace) -> dict[str, Any]:
    from assay.regressions import schedules
    from assay.regressions.models import Against, Missed, Trigger

    _check_declaration(arguments.overrides)
    trigger = Trigger.cron if arguments.cron else Trigger.demand
    if arguments.on_engine_version:
        trigger = Trigger.engine_version
    begin, end = _quiet(arguments.quiet)
    made = schedules.make(
        schedules.Wanted(
            name=arguments.name or "",
            project_id=project_choice.chosen_project_id(arguments),
            overrides=arguments.overrides,
            owner=owner(),
            cron=arguments.cron,
            zone=arguments.zone or "UTC",
            trigger=trigger,
            variable=arguments.variable,
            against=Against(arguments.against or "newest"),
            missed=Missed(arguments.missed or "newest"),
            quiet_from=begin,
            quiet_to=end,
            watches=arguments.watch or schedules.DEFAULT_WATCHES,
        )
    )
    return {"schedules": [_row(made)]}


def _check_declaration(overrides: list[str]) -> None:
    """A schedule whose study is refused today would be refused every night."""
    from assay.execution.composing import planned
    from assay.execution.scheduled import declared

    planned(declared(overrides))


def _quiet(text: str) -> tuple[time | None, time | None]:
    if not text:
        return None, None
    try:
        begin, end = (time.fromisoformat(part.strip()) for part in text.split("-"))
    except ValueError as error:
        raise refusal_of(
            field="--quiet", seen=text, allowed="HH:MM-HH:MM", remedy="20:00-06:00 for the night."
        ) from error
    return begin, end


def _list(arguments: argparse.Namespace) -> dict[str, Any]:
    from assay.regressions.models import Schedule

    return {"schedules": [_row(s) for s in Schedule.objects.order_by("name")]}


def _show(arguments: argparse.Namespace) -> dict[str, Any]:
    from assay.regressions.queries import answer_document, latest_answers

    schedule = named(arguments.name)
    answers = [answer_document(row) for row in latest_answers(schedule)]
    return {"schedules": [{**_row(schedule), "answers": answers}]}


def _pause(arguments: argparse.Namespace) -> dict[str, Any]:
    from assay.regressions import schedules

    schedule = named(arguments.name)
    schedules.pause(schedule, paused=arguments.action == "pause")
    schedule.refresh_from_db()
    return {"schedules": [_row(schedule)]}


def _change(arguments: argparse.Namespace) -> dict[str, Any]:
    """Only what is named on the command line."""
    from assay.regressions import schedules

    schedule = named(arguments.name)
    given = {name: getattr(arguments, name) for name in _CHANGEABLE if getattr(arguments, name)}
    if "overrides" in given:
        _check_declaration(given["overrides"])
    if arguments.quiet:
        given["quiet_from"], given["quiet_to"] = _quiet(arguments.quiet)
    return {"schedules": [_row(schedules.change(schedule, **given))]}


_CHANGEABLE = ("overrides", "cron", "zone", "variable", "missed", "against")


def _sign(arguments: argparse.Namespace) -> dict[str, Any]:
    """Approve the newest baseline of each metric, or pin it to its newest starts."""
    from django.conf import settings

    from assay.archive.paths import Home
    from assay.regressions import signing

    schedule, home = named(arguments.name), Home(settings.HOME)
    said = {"by": owner(), "reason": arguments.reason}
    if arguments.action == "pin":
        signed = signing.pin(schedule, home, newest=arguments.starts, **said)
    else:
        signed = signing.approve(schedule, home, **said)
    rows = [{"metric": f"{b.watch.rule} {b.watch.statistic}", "level": b.level} for b in signed]
    return {"schedules": [{**_row(schedule), "signed": rows}]}


def _fire(arguments: argparse.Namespace) -> dict[str, Any]:
    from django.utils import timezone

    from assay.execution.scheduled import submit
    from assay.regressions.firing import fire_now

    schedule = named(arguments.name)
    firing = fire_now(schedule, timezone.now(), submit)
    study = str(firing.study_id) if firing.study_id else None
    fired = {"state": firing.state, "study": study, "note": firing.note}
    return {"schedules": [{**_row(schedule), "fired": fired}]}


_DO = {
    "add": _add,
    "list": _list,
    "show": _show,
    "pause": _pause,
    "resume": _pause,
    "fire": _fire,
    "change": _change,
    "approve": _sign,
    "pin": _sign,
}


def _row(schedule: "Schedule") -> dict[str, Any]:
    from assay.regressions.documents import schedule_document

    return dict(schedule_document(schedule))


def print_schedules(rows: list[dict[str, Any]]) -> None:
    """In words, wherever they are."""
    for row in rows:
        _say(row)


def _say(row: dict[str, Any]) -> None:
    when = "paused" if row["paused"] else (row["next"] or f"on {row['trigger']}")
    print(f"{row['schedule']}  {' '.join(row['overrides'])}  next {when} {row['next_note']}")  # noqa: T201
    for answer in row.get("answers", []):
        print(f"  {answer['answer']:14} {answer['metric']}  {answer['reason']}")  # noqa: T201
    for signed in row.get("signed", []):
        print(f"  signed  {signed['metric']}  {signed['level']:g}")  # noqa: T201
    if fired := row.get("fired"):
        print(f"  {fired['state']}  study {fired['study']}  {fired['note']}")  # noqa: T201
