"""What a run does before anything is launched: claim its folder, pin its client, describe its host."""

import os

import pyarrow.parquet as pq

from runners.engines.base import EngineAdapter
from runners.evidence import host, processes, registration
from runners.evidence.declared_limits import declared_limits
from runners.evidence.record import Record
from runners.load.process_state import pin_to_cores
from runners.protocol import distant, layout, sealing
from runners.protocol.errors import EnvironmentLacks, Finding, Refused
from runners.protocol.events import SessionEvent
from runners.protocol.workspace import Workspace, write_json


def make_ready(workspace: Workspace, record: Record, adapter: EngineAdapter) -> list[int]:
    """Claim the folder, hold back disk space, take down what must be known before the launch.

    Returns the cores that were allowed before the client was pinned. Raises Refused or EnvironmentLacks.
    """
    _claim(workspace)
    _check_load_workers(workspace, record)
    if (problem := adapter.environment_problem(record.spec)) is not None:
        raise EnvironmentLacks(
            Finding(
                field="engine.environment",
                seen=problem,
                allowed="the pinned engine",
                remedy="See python -m runners doctor.",
            )
        )
    allowed_cores = sorted(os.sched_getaffinity(0))  # before the client is pinned
    cores = pin_to_cores(record.spec["device"]["placement"]["client_cores"])
    me = processes.identify(os.getpid())
    write_json(workspace.runner, me.as_row() if me else {"pid": os.getpid()})
    workspace.take_reserve()
    for folder in (workspace.segments, workspace.scratch, workspace.keeper):
        folder.mkdir(exist_ok=True)
    record.log.write(
        SessionEvent.prepared,
        run_id=record.context["run_id"],
        execution_id=record.context["execution_id"],
        spec_digest=record.context.get("spec_digest"),
        plan_digest=record.context.get("plan_digest"),
        client_cores=cores,
    )
    record.count(0, pq.read_metadata(workspace.bundle / layout.PLAN).num_rows)
    described = host.describe(workspace.bundle)
    record.write_document(layout.HOST, described)
    for gap in (*described["gaps"], *declared_limits(record.spec)):
        record.log.gap(gap)
    registration.register(workspace, record.context, record.log)
    return allowed_cores


def _check_load_workers(workspace: Workspace, record: Record) -> None:
    """Who runs a declaration without the queue has nobody who would carry words to another machine."""
    workers = record.spec["load"]["workers"]
    if workers and not (workspace.root / distant.FOLDER).is_dir():
        raise EnvironmentLacks(
            Finding(
                field="load.workers",
                seen=str(workers),
                allowed="0 where no queue is",
                remedy="Give the run to the queue: assay submit, or assay run.",
            )
        )


def _claim(workspace: Workspace) -> None:
    root = workspace.root
    if not workspace.lock():
        seen = f"{root} is in use by another process"
    elif workspace.runner.exists() or sealing.sealed_digest(workspace.bundle):
        seen = f"{root} was executed already"
    else:
        return
    raise Refused(
        Finding(
            field="OUT",
            seen=seen,
            allowed="an execution that has not run",
            remedy="Every try is an execution of its own: prepare another folder.",
        )
    )
