"""``assay regress``: run a schedule's study here, now, and say whether anything moved. For CI."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli import schedule as schedules
from assay.cli.database import open_or_complain
from assay.cli.exits import DONE, FAILED, print_json, refuse
from assay.cli.junit import junit
from experiments.errors import Refusal

if TYPE_CHECKING:
    from assay.ledger.models import Study
    from assay.regressions.models import CheckRecord, Schedule

HELP = (
    "Run a schedule's study here and compare it with its baseline, fresh starts included. "
    "Exit 0 only if every watched metric is ok or improved."
)
MOST_LOOKS = 60  # a suspicion ends within thirteen asks


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="the schedule: assay schedule list")
    parser.add_argument(
        "--starts", type=int, default=1, help="fresh starts to make (12 for a baseline)"
    )
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write the answers as JUnit XML")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(arguments: argparse.Namespace) -> int:
    if (code := open_or_complain()) is not None:
        return code
    try:
        schedule = schedules.named(arguments.name)
        rows = [row for _ in range(arguments.starts) for row in _one_start(schedule)]
    except Refusal as refusal:
        return refuse(refusal.findings, as_json=arguments.json)
    from assay.regressions.queries import answer_document

    answers = [answer_document(row) for row in rows]
    if arguments.junit is not None:
        arguments.junit.write_text(junit(schedule.name, answers), encoding="utf-8")
    if arguments.json:
        print_json({"schedule": schedule.name, "answers": answers})
    else:
        for a in answers:
            print(f"{a['answer']:14} {a['metric']}  {a['reason']}")  # noqa: T201
    return DONE if answers and all(a["green"] for a in answers) else FAILED


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
            _work_off(asked.pop(0), home)
        checking.look(schedule, home, again)
        if not asked:
            break
    return [row for row in latest_answers(schedule) if row.firing_id == firing.pk]


def _work_off(study: "Study", home: Any) -> None:
    from assay.execution.machine import this_worker
    from assay.execution.work import work_on

    for run in study.runs.order_by("position", "repetition"):
        sys.stderr.write(f"run {run.id}\n")
        work_on(run.id, this_worker(), home, queues={run.queue})
