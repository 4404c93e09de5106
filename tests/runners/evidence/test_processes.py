"""A process is known by pid, start time and boot; found by its parent and by its environment."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from runners.evidence import processes


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    child = subprocess.Popen(
        ["sleep", "60"], env={**os.environ, processes.MARK: f"test-{os.getpid()}"}
    )
    yield child
    child.kill()
    child.wait()


def identity(child: "subprocess.Popen[bytes]") -> processes.ProcessId:
    found = processes.identify(child.pid)
    assert found is not None
    return found


def test_a_live_process_is_identified(sleeper: "subprocess.Popen[bytes]") -> None:
    known = identity(sleeper)

    assert known.command == "sleep 60"
    assert processes.alive(known)


def test_another_start_time_or_boot_is_another_process(
    sleeper: "subprocess.Popen[bytes]",
) -> None:
    known = identity(sleeper)

    assert not processes.alive(replace(known, start_ticks=known.start_ticks - 1))
    assert not processes.alive(replace(known, boot_id="another"))


@pytest.mark.forbids
def test_a_reused_pid_is_never_signalled(sleeper: "subprocess.Popen[bytes]") -> None:
    stranger = replace(identity(sleeper), start_ticks=1)

    assert processes.send(stranger, signal.SIGKILL) is False
    assert sleeper.poll() is None


def test_a_zombie_counts_as_gone() -> None:
    child = subprocess.Popen([sys.executable, "-S", "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # dead, not yet collected

    assert processes.identify(child.pid) is None
    child.wait()


def test_descendants_and_carriers_are_found(sleeper: "subprocess.Popen[bytes]") -> None:
    assert sleeper.pid in processes.descendants(os.getpid())
    assert sleeper.pid in processes.carrying(f"test-{os.getpid()}")
    assert sleeper.pid not in processes.carrying("test")  # no prefix matches


def test_the_holder_of_a_port_is_named() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]

        holder = processes.listener(port)

        assert holder is not None
        assert holder.pid == os.getpid()
        assert processes.listening(port)
    assert not processes.listening(port)
    assert processes.listener(port) is None


def test_available_memory_is_read_in_bytes() -> None:
    available = processes.available_bytes()

    assert available is not None
    assert available > 2**20
