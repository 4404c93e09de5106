"""``assay submit``: check the declaration, queue its runs, nudge the workers."""

import argparse

from assay.cli import declaration
from assay.cli.database import open_or_complain, owner, set_up
from assay.cli.exits import DONE, print_json, refuse
from assay.cli.run import say_not_prepared
from experiments.errors import Refusal

HELP = (
    "Queue a study for the workers. The database is the queue: a run is never lost with a message."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    declaration.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    try:
        specs = declaration.planned_runs(arguments)
    except Refusal as refusal:
        return refuse(refusal.findings, as_json=arguments.json)
    set_up()
    from django.conf import settings

    from assay.archive.paths import Home
    from assay.execution import preparing

    if (
        settings.REDIS_URL is None
    ):  # embedded: the worker is this machine, so pins can be checked now
        refused = preparing.check([(s.document, s.digest) for s in specs], home=Home(settings.HOME))
        if refused is not None:
            return say_not_prepared(refused, as_json=arguments.json)
    if (code := open_or_complain()) is not None:
        return code
    from assay.execution import reaper
    from assay.execution.declaring import create_study
    from assay.execution.nudging import nudge
    from assay.ledger.models import Run

    reaper.expire()
    study = create_study(specs, overrides=arguments.overrides, owner=owner())
    runs = list(Run.objects.filter(study=study).order_by("position"))
    for queue in sorted({r.queue for r in runs}):
        nudge(queue)
    if arguments.json:
        rows = [{"run": str(r.id), "state": r.state, "spec_digest": r.spec_digest} for r in runs]
        print_json({"study": str(study.id), "runs": rows})
        return DONE
    for one in runs:
        print(f"run     {one.id}  queued")  # noqa: T201
    print(f"show    assay show {runs[0].id}")  # noqa: T201
    return DONE
