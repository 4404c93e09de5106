"""Which processes there are, who started them, and whether a number still means the same process.

Standard library only: the keeper imports this. A process is known by pid, start time and boot id together,
because pids are used again.
"""

import contextlib
import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from runners.protocol.clocks import boot_id

MARK = "ASSAY_EXECUTION"
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessId:
    """A process that was seen. ``start_ticks`` is field 22 of /proc/PID/stat, in clock ticks since boot."""

    pid: int
    start_ticks: int
    boot_id: str
    command: str

    def as_row(self) -> dict[str, int | str]:
        return {
            "pid": self.pid,
            "start_ticks": self.start_ticks,
            "boot_id": self.boot_id,
            "command": self.command,
        }


def _stat(pid: int) -> tuple[str, int, int] | None:
    """State letter, parent pid and start ticks; None when there is no such process."""
    try:
        text = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    fields = text[text.rindex(b")") + 2 :].split()  # the name before it may hold anything
    return fields[0].decode("ascii"), int(fields[1]), int(fields[19])


def identify(pid: int) -> ProcessId | None:
    """The identity of a live process; None when it is gone or a zombie."""
    stat = _stat(pid)
    if stat is None or stat[0] in "ZX":
        return None
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").strip()
        name = (_PROC / str(pid) / "comm").read_bytes().strip()
    except OSError:
        return None
    command = (words or name).decode("utf-8", "replace")[:400]
    return ProcessId(pid=pid, start_ticks=stat[2], boot_id=boot_id(), command=command)


def alive(process: ProcessId) -> bool:
    """True while the very process lives; a zombie holds nothing and counts as gone."""
    if process.boot_id != boot_id():
        return False
    stat = _stat(process.pid)
    return stat is not None and stat[0] not in "ZX" and stat[2] == process.start_ticks


def pids() -> list[int]:
    with os.scandir(_PROC) as entries:
        return [int(entry.name) for entry in entries if entry.name.isdigit()]


def descendants(root: int) -> set[int]:
    """Every live process below ``root`` by parent, ``root`` left out."""
    children: dict[int, list[int]] = {}
    for pid in pids():
        stat = _stat(pid)
        if stat is not None and stat[0] not in "ZX":
            children.setdefault(stat[1], []).append(pid)
    found: set[int] = set()
    pending = [root]
    while pending:
        for child in children.get(pending.pop(), ()):
            if child not in found:
                found.add(child)
                pending.append(child)
    return found


def carrying(execution_id: str) -> set[int]:
    """Every live process whose start environment names this execution, whoever its parent is."""
    wanted = f"{MARK}={execution_id}".encode()
    found: set[int] = set()
    for pid in pids():
        with contextlib.suppress(OSError):
            if wanted in (_PROC / str(pid) / "environ").read_bytes().split(b"\0"):
                stat = _stat(pid)
                if stat is not None and stat[0] not in "ZX":
                    found.add(pid)
    return found


def identities(numbers: Iterable[int]) -> list[ProcessId]:
    return [known for pid in sorted(numbers) if (known := identify(pid)) is not None]


def send(process: ProcessId, number: signal.Signals) -> bool:
    """Signal the very process; False when it is gone. A pidfd keeps a reused pid from being hit."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:
        return False
    try:
        if not alive(process):
            return False
        signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)
    return True


def listener(port: int) -> ProcessId | None:
    """The process that listens on a TCP port of this network namespace, if we may see it."""
    inodes = _listening_inodes(port)
    if not inodes:
        return None
    return next((identify(pid) for pid in pids() if inodes & _sockets(pid)), None)


def _sockets(pid: int) -> set[str]:
    """The sockets a process has open, as far as we may see."""
    found: set[str] = set()
    with contextlib.suppress(OSError), os.scandir(_PROC / str(pid) / "fd") as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                found.add(str(Path(entry.path).readlink()))
    return found


def _listening_inodes(port: int) -> set[str]:
    found: set[str] = set()
    for table in ("net/tcp", "net/tcp6"):
        with contextlib.suppress(OSError):
            for line in (_PROC / table).read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                    found.add(f"socket:[{fields[9]}]")
    return found


def listening(port: int) -> bool:
    """True while some socket of this network namespace listens on the port."""
    return bool(_listening_inodes(port))


def available_bytes() -> int | None:
    """MemAvailable of the host, in bytes."""
    for line in (_PROC / "meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None
