"""``assay run``: compose, check, run here with a progress display, and say where to look."""

import argparse
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from assay.cli import declaration, project_choice
from assay.cli.database import open_or_complain, owner, set_up
from assay.cli.display import Display
from assay.cli.exits import DONE, FAILED, INTERRUPTED, complain, print_json, refuse
from assay.cli.interrupts import stop_on_signals
from experiments.errors import Finding, Refusal
from experiments.plan import RunSpec

if TYPE_CHECKING:
    from assay.execution.preparing import Prepared
    from assay.execution.procedure import Outcome

HELP = (
    "Run a study inline. Nothing is written if the declaration, a pin or the environment is refused. "
    "Ctrl-C seals what was captured as aborted."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    declaration.add_arguments(parser)
    project_choice.add_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    try:
        specs = declaration.planned_runs(arguments)
    except Refusal as refusal:
        return refuse(refusal.findings, as_json=arguments.json)
    with stop_on_signals() as stopped, Display() as display:
        if (code := check_pins(specs, stopped, display, as_json=arguments.json)) is not None:
            return code
        if (code := open_or_complain()) is not None:
            return code
        try:
            project_id = project_choice.chosen_project_id(arguments)
        except Refusal as refusal:
            display.close()
            return refuse(refusal.findings, as_json=arguments.json)
        outcomes = run_all(arguments.overrides, specs, stopped, display, project_id=project_id)
    code = _report(arguments, outcomes)
    if stopped.is_set() and code == DONE:
        complain("interrupted after the last run had been measured (allowed: waiting). It is kept")
    return INTERRUPTED if stopped.is_set() else code


def check_pins(
    specs: list[RunSpec], stopped: threading.Event, display: Display, *, as_json: bool
) -> int | None:
    """Prepare every distinct spec once and keep nothing: a refusal leaves no trace."""
    set_up()
    from django.conf import settings

    from assay.archive.paths import Home
    from assay.execution import preparing

    display.say("check", "verifying pins and the environment")
    refused = preparing.check(
        [(s.document, s.digest) for s in specs],
        home=Home(settings.HOME),
        should_stop=stopped.is_set,
    )
    if stopped.is_set():
        display.close()
        complain("interrupted before anything ran (allowed: waiting). Nothing was kept")
        return INTERRUPTED
    if refused is None:
        return None
    display.close()
    return say_not_prepared(refused, as_json=as_json)


def say_not_prepared(prepared: "Prepared", *, as_json: bool) -> int:
    """Say why a declaration cannot start here, and give the exit code."""
    if prepared.findings:
        return refuse(prepared.findings, exit_code=prepared.exit_code, as_json=as_json)
    broke_down = Finding(
        field="prepare",
        seen=f"exit code {prepared.exit_code}",
        allowed="0",
        remedy=prepared.log_tail or "It said nothing.",
    )
    return refuse([broke_down], exit_code=FAILED, as_json=as_json)


def run_all(
    overrides: Sequence[str],
    specs: list[RunSpec],
    stopped: threading.Event,
    display: Display,
    *,
    project_id: UUID | None = None,
) -> list[tuple[Any, "Outcome | None"]]:
    """Carry out every run in the recorded order; once interrupted, the rest is cancelled."""
    from django.conf import settings

    from assay.accounts.models import MAIN_PROJECT
    from assay.archive.paths import Home
    from assay.execution import reaper, services
    from assay.execution.declaring import create_study
    from assay.execution.machine import this_worker
    from assay.execution.serving import here
    from assay.execution.work import work_on

    home, worker = Home(settings.HOME), this_worker()
    reaper.expire_dead_workers()
    reaper.expire()
    reaper.sweep(home)
    study = create_study(
        specs,
        overrides=overrides,
        owner=owner(),
        project_id=project_id or MAIN_PROJECT,
        reserved_by=str(worker),
    )
    offer = here(home, sorted({s.document["device"]["kind"] for s in specs}))
    outcomes: list[tuple[Any, Outcome | None]] = []
    for number, queued in enumerate(study.runs.order_by("position"), start=1):
        if stopped.is_set():
            services.request_cancel(queued.id)
            outcomes.append((queued.id, None))
            continue
        display.start_run(number, of=len(specs), run_id=str(queued.id), label=queued.variables)
        outcome = work_on(
            queued.id, worker, home, offer=offer, show=display.show, should_stop=stopped.is_set
        )
        if outcome is None or stopped.is_set():
            services.request_cancel(queued.id)
        outcomes.append((queued.id, outcome))
    return outcomes


def _report(arguments: argparse.Namespace, outcomes: list[tuple[Any, "Outcome | None"]]) -> int:
    from assay.cli.result import run_object, where_to_look
    from assay.ledger.models import Run

    runs = [Run.objects.select_related("study").get(id=run_id) for run_id, _ in outcomes]
    for one, (_, outcome) in zip(runs, outcomes, strict=True):
        if outcome is not None and outcome.exit_code:
            complain(f"run {one.id}: {one.state}: {one.state_reason or outcome.reason}")
    if arguments.json:
        objects = [run_object(r) for r in runs]
        print_json({"runs": objects} if arguments.sweep else objects[0])
    else:
        for one in runs:
            where_to_look(one)
    codes = [INTERRUPTED if o is None else o.exit_code for _, o in outcomes]
    return INTERRUPTED if INTERRUPTED in codes else max(codes)
