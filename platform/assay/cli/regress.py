"""``assay regress``: run a schedule's study here, now, and say whether anything moved. For CI."""

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli import schedule as schedules
from assay.cli.database import open_or_complain
from assay.cli.exits import DONE, FAILED, print_json, refuse
from assay.cli.junit import junit
from experiments.errors import Refusal
from experiments.errors import refuse as refusal_of

if TYPE_CHECKING:
    from assay.ledger.models import Study
    from assay.regressions.models import CheckRecord, Schedule

HELP = (
    "Run a schedule's study here and compare it with its baseline, fresh starts included. "
    "Exit 0 only if every watched metric is ok or improved."
)
POLL_S = 1.0
MOST_LOOKS = 60  # a suspicion ends within thirteen asks


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="the schedule: assay schedule list")
    parser.add_argument("--study", metavar="STUDY", help="or the schedule of this study")
    parser.add_argument(
        "--against",
        choices=("newest", "approved", "pinned", "rolling"),
        help="which baseline, this once (the schedule's own)",
    )
    parser.add_argument(
        "--starts",
        type=int,
        default=1,
        help="fresh starts to make (12 for a baseline); 0: what the newest firing got",
    )
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write the answers as JUnit XML")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(arguments: argparse.Namespace) -> int:
    if (code := open_or_complain()) is not None:
        return code
    try:
        schedule = _asked(arguments)
        rows = [row for _ in range(arguments.starts) for row in _one_start(schedule)]
        rows = rows if arguments.starts else _newest(schedule)
    except Refusal as refusal:
        return refuse(refusal.findings, as_json=arguments.json)
    from assay.regressions.queries import answer_document

    answers = [answer_document(row) for row in rows]
    print_answers(schedule.name, answers, arguments)
    return DONE if answers and all(a["green"] for a in answers) else FAILED


def print_answers(
    schedule: str, answers: list[dict[str, Any]], arguments: argparse.Namespace
) -> None:
    """In words or as JSON, and as JUnit where a file is named; wherever the runs were."""
    if arguments.junit is not None:
        arguments.junit.write_text(junit(schedule, answers), encoding="utf-8")
    if arguments.json:
        print_json({"schedule": schedule, "answers": answers})
    else:
        for a in answers:
            print(f"{a['answer']:14} {a['metric']}  {a['reason']}")  # noqa: T201


def _asked(arguments: argparse.Namespace) -> "Schedule":
    """By name or by study. Another baseline for this once is not written down. Raises Refusal."""
    if arguments.study and not arguments.name:
        schedule = _of_study(arguments.study)
    else:
        schedule = schedules.named(arguments.name)
    if arguments.against:
        schedule.against = arguments.against
    return schedule


def _of_study(study: str) -> "Schedule":
    from assay.regressions.models import Schedule

    found = [s for s in Schedule.objects.order_by("name") if f"study={study}" in s.overrides]
    if len(found) != 1:
        raise refusal_of(
            field="--study",
            seen=study,
            allowed=", ".join(s.name for s in found) or "a study that a schedule runs",
            remedy="Name one of these schedules."
            if found
            else f"Add one: assay schedule add NAME study={study}",
        )
    return found[0]


def _newest(schedule: "Schedule") -> list["CheckRecord"]:
    """The answers of the newest firing; none while it has none, which is no pass either."""
    from assay.regressions.queries import latest_answers

    newest = schedule.firings.order_by("-slot").first()
    return [r for r in latest_answers(schedule) if newest and r.firing_id == newest.pk]


def _one_start(schedule: "Schedule") -> list["CheckRecord"]:
    """Fire, work off what was queued here, and look until no fresh start is asked for any more."""
    from django.conf import settings
    from django.utils import timezone

    from assay.archive.paths import Home
    from assay.execution.scheduled import rerun, submit
    from assay.regressions import checking
    from assay.regressions.firing import fire_now
    from assay.regressions.queries import latest_answers

    home = Home(settings.HOME)
    firing = fire_now(schedule, timezone.now(), submit)
    asked: list[Study] = [firing.study] if firing.study is not None else []

    def again(run: Any) -> "Study":
        asked.append(rerun(run))
        return asked[-1]

    for _ in range(MOST_LOOKS):
        while asked:
            work_off_here(asked.pop(0), home)
        checking.look(schedule, home, again)
        if not asked:
            break
    return [row for row in latest_answers(schedule) if row.firing_id == firing.pk]


def work_off_here(study: "Study", home: Any) -> None:
    """Carry out a study's runs that have not ended on this machine, or wait for the worker that was first."""
    from assay.execution.machine import this_worker
    from assay.execution.serving import here
    from assay.execution.work import work_on
    from runners.protocol.events import LIVE_STATES

    left = list(study.runs.filter(state__in=LIVE_STATES).order_by("position", "repetition"))
    if not left:
        return
    offer = here(home, sorted({run.queue for run in left}))
    for run in left:
        sys.stderr.write(f"run {run.id}\n")
        work_on(run.id, this_worker(), home, offer=offer)
        while study.runs.filter(pk=run.pk, state__in=LIVE_STATES).exists():
            time.sleep(POLL_S)  # a worker was first
