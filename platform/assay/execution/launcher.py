"""Start and watch the processes of an execution. Each is a subprocess of its own session.

A terminal's Ctrl-C reaches only us: we forward it once and wait until the runner has sealed what there is.
The runner itself watches this process (``--watch``): if it is killed, the engine is stopped all the same.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

TICK_S = 0.1
SEAL_GRACE_S = 180.0  # a big capture takes its time to seal
LOG_TAIL_BYTES = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a subprocess ended; ``exit_code`` is negative for a signal, as subprocess has it."""

    exit_code: int
    stdout: str
    log_tail: str
    interrupted: bool


def run_to_end(
    command: Sequence[str],
    *,
    folder: Path,
    name: str,
    should_stop: Callable[[], bool] = lambda: False,
    on_tick: Callable[[], None] = lambda: None,
    grace_s: float = SEAL_GRACE_S,
) -> Ended:
    """Run ``command`` in ``folder``, its output in ``<name>.out`` and ``<name>.log`` there.

    When ``should_stop`` turns true the process gets SIGINT once, and SIGKILL after ``grace_s``.
    """
    out, log = folder / f"{name}.out", folder / f"{name}.log"
    with out.open("wb") as stdout, log.open("wb") as stderr:
        process = subprocess.Popen(
            list(command),
            cwd=folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
        try:
            interrupted = _wait(process, should_stop=should_stop, on_tick=on_tick, grace_s=grace_s)
        finally:
            if process.poll() is None:  # an error of ours: never leave it behind
                process.kill()
                process.wait()
    return Ended(
        exit_code=process.returncode,
        stdout=out.read_text(encoding="utf-8", errors="replace"),
        log_tail=tail(log),
        interrupted=interrupted,
    )


def _wait(
    process: subprocess.Popen[bytes],
    *,
    should_stop: Callable[[], bool],
    on_tick: Callable[[], None],
    grace_s: float,
) -> bool:
    kill_at: float | None = None
    while True:
        try:
            process.wait(timeout=TICK_S)
        except subprocess.TimeoutExpired:
            on_tick()
        else:
            on_tick()
            return kill_at is not None
        if kill_at is None and should_stop():
            process.send_signal(signal.SIGINT)
            kill_at = time.monotonic() + grace_s
        elif kill_at is not None and time.monotonic() > kill_at:
            process.kill()


def runner(*arguments: str | Path) -> list[str]:
    return [*settings.RUNNER_COMMAND, *(str(a) for a in arguments)]


def interpreter(*arguments: str | Path) -> list[str]:
    return [*settings.INTERPRETER_COMMAND, *(str(a) for a in arguments)]


def _environment() -> dict[str, str]:
    """This checkout's code, whatever else is installed."""
    return {
        **os.environ,
        "PYTHONPATH": settings.SUBPROCESS_PATH,
        "PYTHONUNBUFFERED": "1",
        "ASSAY_HOME": str(settings.HOME),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
    }


def tail(path: Path) -> str:
    """The last lines of a log, for a message."""
    if not path.exists():
        return ""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - LOG_TAIL_BYTES))
        return stream.read().decode("utf-8", errors="replace").strip()
