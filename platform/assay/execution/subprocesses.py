"""Run one process to its end: its output in files, an interrupt forwarded once, nothing left behind.

Knows no Django: ``assay load`` starts its runner with it where no database is.
"""

import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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
    environment: Mapping[str, str],
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
            env=dict(environment),
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


def tail(path: Path) -> str:
    """The last lines of a log, for a message."""
    if not path.exists():
        return ""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - LOG_TAIL_BYTES))
        return stream.read().decode("utf-8", errors="replace").strip()
