"""Children are restarted when they die, ended together, and given up when they cannot work."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from assay.execution import supervisor
from assay.execution.supervisor import Child, GaveUp, supervise
from tests.stacks import wait_until


def child(tmp_path: Path, code: str, name: str = "one") -> Child:
    return Child(name=name, command=[sys.executable, "-c", code], log=tmp_path / f"{name}.log")


def run(children: list[Child], stop: threading.Event, events: list[str]) -> None:
    supervise(children, environment=os.environ, should_stop=stop.is_set, on_event=events.append)


def test_a_stop_ends_every_child(tmp_path: Path) -> None:
    children = [child(tmp_path, "import time; time.sleep(60)", name) for name in ("a", "b")]
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()

    run(children, stop, [])

    assert [c.process.returncode for c in children if c.process] == [-signal.SIGTERM] * 2


def test_a_child_that_dies_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "RESTART_AFTER_S", 0.1)
    code = f"open({str(tmp_path / 'starts')!r}, 'a').write('x')"
    stop, events = threading.Event(), list[str]()
    threading.Timer(1.0, stop.set).start()
    monkeypatch.setattr(supervisor, "TOO_MANY", 100)

    run([child(tmp_path, code)], stop, events)

    assert len((tmp_path / "starts").read_text()) >= 2
    assert events[0].startswith("one ended with 0; starting it again")


def test_a_child_that_cannot_work_is_given_up_and_its_log_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "RESTART_AFTER_S", 0.0)
    monkeypatch.setattr(supervisor, "TOO_MANY", 2)
    other = child(tmp_path, "import time; time.sleep(60)", "other")

    with pytest.raises(GaveUp, match=r"one ended 2 times .* see .*one\.log"):
        run([child(tmp_path, "raise SystemExit(3)"), other], threading.Event(), [])

    assert other.process is not None
    assert other.process.poll() is not None


@pytest.mark.fault
def test_children_do_not_outlive_a_killed_supervisor(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path\n"
        "from assay.execution.supervisor import Child, supervise\n"
        "sleeper = [sys.executable, '-c', 'import time; time.sleep(60)']\n"
        f"one = Child(name='one', command=sleeper, log=Path({str(tmp_path / 'log')!r}))\n"
        "def tell():\n"
        f"    Path({str(tmp_path / 'pid')!r}).write_text(str(one.process.pid))\n"
        "    return False\n"
        "supervise([one], environment=os.environ, should_stop=tell, on_event=print)"
    )
    import subprocess

    parent = subprocess.Popen([sys.executable, "-c", code])
    wait_until(
        lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").stat().st_size > 0, seconds=20
    )
    time.sleep(0.2)
    pid = int((tmp_path / "pid").read_text())

    parent.kill()
    parent.wait()

    wait_until(lambda: not psutil.pid_exists(pid), seconds=5)
