"""Seal an execution whose session is dead, after making sure that no process of it is left.

Reaping again, or after an interrupted reaping, goes on where it stopped; a sealed bundle is left as it is.
"""

import signal
import time
from pathlib import Path
from typing import Any

from runners.adapters import identify_with, printed_by
from runners.evidence import closing, processes
from runners.evidence.logs import last_lines
from runners.evidence.sweep import Swept, sweep
from runners.protocol import exit_codes, layout, manifest, sealing
from runners.protocol.documents import Gap
from runners.protocol.errors import EnvironmentLacks, Finding
from runners.protocol.events import RunState, SessionEvent
from runners.protocol.session_log import SessionLog, mend, read
from runners.protocol.workspace import Workspace, read_json
from runners.result import Result

_SEAL_PATIENCE_S = 20.0


def reap(out: Path, *, state: RunState = RunState.lost) -> Result:
    """End what is left of the execution in ``out`` and seal it as ``state`` unless it is sealed already."""
    workspace = Workspace(out.resolve())
    context, spec = workspace.context(), workspace.spec()
    if sealing.sealed_digest(workspace.bundle) is None:
        stop_timeout_s = float(spec["engine"]["stop_timeout_s"])
        _end_runner(workspace, patience_s=stop_timeout_s + _SEAL_PATIENCE_S)
        swept = sweep(context["execution_id"], workspace.keeper, stop_timeout_s=stop_timeout_s)
        _claim(workspace)
        if sealing.sealed_digest(workspace.bundle) is None:
            _seal(workspace, swept, state)
    return _result(workspace)


def _end_runner(workspace: Workspace, *, patience_s: float) -> None:
    """A runner that still lives is asked to end, which seals its run as aborted; then it is killed."""
    row = read_json(workspace.runner)
    if not isinstance(row, dict) or "start_ticks" not in row:
        return
    runner = processes.ProcessId(**row)
    for number, seconds in ((signal.SIGTERM, patience_s), (signal.SIGKILL, 5.0)):
        processes.send(runner, number)
        deadline = time.monotonic() + seconds
        while processes.alive(runner) and time.monotonic() < deadline:
            time.sleep(0.02)


def _claim(workspace: Workspace) -> None:
    deadline = time.monotonic() + _SEAL_PATIENCE_S
    while not workspace.lock():
        if time.monotonic() > deadline:
            raise EnvironmentLacks(
                Finding(
                    field="OUT",
                    seen=f"{workspace.root} is in use by another process",
                    allowed="an execution that nobody runs or reaps",
                    remedy="Another reaper is at work: wait for it.",
                )
            )
        time.sleep(0.05)


def _seal(workspace: Workspace, swept: Swept, state: RunState) -> None:
    session = workspace.bundle / layout.SESSION
    torn = mend(session)
    rows = read(session)
    last = (
        f"after its {rows[-1]['event']} row at {rows[-1]['t']}" if rows else "before its first row"
    )
    workspace.release_reserve()
    log = SessionLog(session)
    if not log.has(SessionEvent.reaped):
        log.write(SessionEvent.reaped, swept=swept.as_row(), torn_bytes=torn, last_event=last)
    reason = f"the runner died {last}"
    log.gap(
        Gap(
            what=f"the record of this run is cut: {reason}",
            affects="everything that would have come later, the release checks among it",
            needed="a run that ends by itself",
            state="open",
        )
    )
    words = last_lines(workspace.bundle / layout.ENGINE_LOG, workspace.keeper)
    closing.close(
        workspace,
        log,
        closing.Ending(state=state, reason=reason, phase=None, last_lines=tuple(words)),
        identify=identify_with(workspace, log),
        read_printed=printed_by(workspace, log),
    )


def _result(workspace: Workspace) -> Result:
    stated: dict[str, Any] = manifest.read(workspace.bundle)
    error = read_json(workspace.bundle / layout.ERROR) or {}
    state = RunState(stated["state"])
    return Result(
        state=state.value,
        bundle=str(workspace.bundle),
        bundle_digest=sealing.sealed_digest(workspace.bundle),
        reason=error.get("reason"),
        exit_code=exit_codes.OF_STATE[state],
    )
