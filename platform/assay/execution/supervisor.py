"""Keep the processes of the embedded installation together: start, restart what died, end all at once."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

RESTART_AFTER_S = 2.0
TOO_MANY = 5  # deaths of one child within TOO_MANY_S: it cannot work here
TOO_MANY_S = 60.0
_PR_SET_PDEATHSIG = 1
STOP_GRACE_S = 200.0  # a worker seals the run it aborts


@dataclass
class Child:
    """One supervised process; ``deaths`` are monotonic times."""

    name: str
    command: Sequence[str]
    log: Path
    process: subprocess.Popen[bytes] | None = None
    deaths: list[float] = field(default_factory=list)
    restart_at: float = 0.0


class GaveUp(Exception):
    """A child died too often; its log says why."""


def supervise(
    children: Sequence[Child],
    *,
    environment: Mapping[str, str],
    should_stop: Callable[[], bool],
    on_event: Callable[[str], None],
) -> None:
    """Run all children until ``should_stop``; then end all of them. Raises GaveUp."""
    try:
        for child in children:
            _start(child, environment)
        while not should_stop():
            for child in children:
                _look_after(child, environment, on_event)
            time.sleep(0.2)
    finally:
        stop_all(children)


def _start(child: Child, environment: Mapping[str, str]) -> None:
    child.log.parent.mkdir(parents=True, exist_ok=True)
    with child.log.open("ab") as log:
        child.process = subprocess.Popen(
            list(child.command),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=dict(environment),
            start_new_session=True,  # a terminal's Ctrl-C comes to us alone, and is passed on in order
            preexec_fn=_end_with_parent,
        )


def _end_with_parent() -> None:
    """In the child: if the supervisor is killed, nobody would ever end what it started."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _look_after(
    child: Child, environment: Mapping[str, str], on_event: Callable[[str], None]
) -> None:
    now = time.monotonic()
    if child.process is None:
        if now >= child.restart_at:
            _start(child, environment)
        return
    code = child.process.poll()
    if code is None:
        return
    child.process = None
    child.deaths = [d for d in child.deaths if now - d < TOO_MANY_S] + [now]
    if len(child.deaths) >= TOO_MANY:
        raise GaveUp(f"{child.name} ended {TOO_MANY} times in {TOO_MANY_S:g} s; see {child.log}")
    child.restart_at = now + RESTART_AFTER_S
    on_event(f"{child.name} ended with {code}; starting it again (log: {child.log})")


def stop_all(children: Sequence[Child]) -> None:
    """SIGTERM to all, then wait; SIGKILL to whatever does not end."""
    running = [c.process for c in children if c.process is not None]
    for process in running:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + STOP_GRACE_S
    for process in running:
        try:
            process.wait(timeout=max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def assay_command(*arguments: str) -> list[str]:
    """A verb of this very installation."""
    return [sys.executable, "-P", "-m", "assay.cli.main", *arguments]


def child_environment(*, python_path: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": python_path, "PYTHONUNBUFFERED": "1"}
