"""This machine and the workers on it: who they are, whether they live, and one run at a time.

A worker is a process: host, boot, process id and its start time, so that a reused id is no alibi. Two runs on
one machine would disturb each other's measurement, therefore a lock file admits one at a time.
"""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from assay.archive.paths import Home
from runners.protocol.clocks import boot_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """``str()`` of it is what the database holds: ``host/boot/pid/started``."""

    host: str
    boot: str
    pid: int
    started: str

    def __str__(self) -> str:
        return f"{self.host}/{self.boot}/{self.pid}/{self.started}"

    @classmethod
    def parse(cls, text: str) -> "Worker":
        host, boot, pid, started = text.rsplit("/", 3)
        return cls(host=host, boot=boot, pid=int(pid), started=started)

    def is_dead(self) -> bool:
        """True only if this is the worker's host and the process is surely gone."""
        if self.host != socket.gethostname():
            return False
        return self.boot != _boot() or process_start(self.pid) != self.started


def this_worker() -> Worker:
    pid = os.getpid()
    return Worker(
        host=socket.gethostname(), boot=_boot(), pid=pid, started=process_start(pid) or ""
    )


def _boot() -> str:
    """Eight characters of the kernel's boot id; the boot time where there is none."""
    try:
        return boot_id()[:8]
    except OSError:
        return f"{int(psutil.boot_time()):08x}"


def process_start(pid: int) -> str | None:
    """When a process started, in the kernel's own ticks; None if there is none (a zombie is none)."""
    stat = Path(f"/proc/{pid}/stat")
    try:
        if Path("/proc/self/stat").exists():
            after_name = stat.read_text(encoding="utf-8", errors="replace").rsplit(") ", 1)[1]
            fields = after_name.split()
            return None if fields[0] in {"Z", "X"} else fields[19]  # state; starttime is field 22
        return f"{psutil.Process(pid).create_time():.2f}"
    except (OSError, IndexError, psutil.Error):
        return None


@contextmanager
def machine_to_itself(home: Home) -> Iterator[bool]:
    """Hold this machine if nobody else does. Yields False at once if somebody does.

    The kernel lets go of the lock when the process ends, however it ends.
    """
    home.root.mkdir(parents=True, exist_ok=True)
    with home.machine_lock.open("a+") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        stream.seek(0)
        stream.truncate()
        stream.write(f"{this_worker()}\n")
        stream.flush()
        yield True


def machine_holder(home: Home) -> str:
    """Who holds the machine, as far as the lock file says."""
    try:
        return home.machine_lock.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
