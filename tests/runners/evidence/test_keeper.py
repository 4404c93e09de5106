"""The keeper stops whatever it started, however it was started and however the runner went."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runners.evidence import processes
from runners.evidence.keeper import JOURNAL, KeeperConfig
from runners.evidence.sweep import sweep
from runners.protocol.workspace import json_lines
from tests.runners.prepared import ROOT

pytestmark = pytest.mark.fault

SLEEP = "import time; time.sleep(600)"
IGNORE_TERM = f"""
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('up', flush=True)
{SLEEP}
"""
# Double fork with a session of its own, then ignoring TERM; the parent stays.
DAEMON = f"""
import os, signal
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    {SLEEP}
os.wait()
print('up', flush=True)
{SLEEP}
"""


class Kept:
    """A keeper with a small engine, driven by hand."""

    def __init__(self, folder: Path, program: str, **changes: Any) -> None:
        self.folder = folder
        self.execution_id = f"keeper-{os.getpid()}-{folder.name}"
        config = {
            "execution_id": self.execution_id,
            "command": [sys.executable, "-S", "-c", program],
            "folder": str(folder / "keeper"),
            "directory": str(folder),
            "log_file": str(folder / "engine.log"),
            "log_limit_bytes": 10_000,
            "stop_timeout_s": 0.4,
            "port": None,
            "cores": [],
            "secret_names": [],
            **changes,
        }
        KeeperConfig(**config).write(folder / "config.json")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "runners.evidence.keeper", str(folder / "config.json")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, processes.MARK: self.execution_id},
            start_new_session=True,
        )

    def rows(self, event: str) -> list[dict[str, Any]]:
        return [r for r in json_lines(self.folder / "keeper" / JOURNAL) if r["event"] == event]

    def engine_pid(self) -> int:
        return int(self.rows("started")[0]["pid"])

    def log(self) -> str:
        path = self.folder / "engine.log"
        return path.read_text() if path.exists() else ""

    def stop(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(timeout=20)

    def tree(self) -> set[int]:
        return processes.carrying(self.execution_id)


Start = Callable[..., Kept]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    made: list[Kept] = []

    def make(program: str, **changes: Any) -> Kept:
        kept = Kept(tmp_path, program, **changes)
        made.append(kept)
        until(lambda: bool(kept.rows("started") or kept.rows("not_started")))
        return kept

    yield make
    for kept in made:
        with kept.process:  # closes its pipes and waits
            kept.process.kill()
        sweep(kept.execution_id, kept.folder / "keeper", stop_timeout_s=0)


def until(condition: Callable[[], bool], patience_s: float = 10.0) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def test_a_closed_pipe_stops_the_engine_and_what_was_seen_is_written(start: Start) -> None:
    kept = start(f"print('hello', flush=True); {SLEEP}")
    until(lambda: "hello" in kept.log())

    assert kept.stop() == 0

    assert kept.tree() == set()
    assert kept.rows("runner_gone")
    assert [r["signal"] for r in kept.rows("signalled")] == ["TERM"]
    [exited] = kept.rows("exited")
    assert (exited["code"], exited["engine"]) == (-signal.SIGTERM, True)
    [released] = kept.rows("released")
    assert released["processes_left"] == []
    assert released["available_bytes_after"] > 0
    started = kept.rows("started")[0]
    assert {"pid", "start_ticks", "boot_id"} <= started.keys()


def test_an_engine_that_ignores_term_is_killed_after_its_time(start: Start) -> None:
    kept = start(IGNORE_TERM)
    until(lambda: "up" in kept.log())
    begun = time.monotonic()

    kept.stop()

    assert time.monotonic() - begun >= 0.4
    assert [r["signal"] for r in kept.rows("signalled")] == ["TERM", "KILL"]
    assert kept.rows("exited")[0]["code"] == -signal.SIGKILL
    assert kept.tree() == set()


def test_a_child_that_made_itself_a_daemon_is_found_and_ended(start: Start) -> None:
    kept = start(DAEMON)
    until(lambda: "up" in kept.log())
    daemons = kept.tree() - {kept.engine_pid(), kept.process.pid}
    assert len(daemons) == 1

    kept.stop()

    assert kept.tree() == set()
    assert kept.rows("released")[0]["processes_left"] == []


def test_a_process_without_the_mark_is_found_by_its_parent(start: Start) -> None:
    # the child's environment is empty: only the chain of parents leads to it
    program = (
        "import subprocess, sys; subprocess.Popen(['sleep', '600'], env={}); "
        f"print('up', flush=True); {SLEEP}"
    )
    kept = start(program)
    until(lambda: "up" in kept.log())
    below = processes.descendants(kept.process.pid)
    assert len(below) == 2

    kept.stop()

    assert all(processes.identify(pid) is None for pid in below)


def test_the_end_of_the_engine_is_told_with_its_code(start: Start) -> None:
    kept = start("import sys; print('no weights', flush=True); sys.exit(7)")
    assert kept.process.stdout is not None

    told = [json.loads(kept.process.stdout.readline()) for _ in range(3)]

    assert [row["event"] for row in told] == ["keeper", "started", "exited"]
    assert (told[2]["code"], told[2]["engine"]) == (7, True)
    assert kept.process.poll() is None  # it waits for the runner's word
    assert "no weights" in kept.log()  # its last words are there before its end is told
    kept.stop()


def test_a_program_that_does_not_exist_is_told(start: Start) -> None:
    kept = start("", command=["/nowhere/engine"])

    assert kept.process.wait(timeout=10) == 0
    assert "No such file" in kept.rows("not_started")[0]["reason"]


def test_no_secret_reaches_journal_or_log(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_KEY", "top-secret-value")
    program = f"import os; print(os.environ['ENGINE_KEY'], flush=True); {SLEEP}"
    kept = start(
        program,
        command=[sys.executable, "-S", "-c", program, "--key", "top-secret-value"],
        secret_names=["ENGINE_KEY"],
    )
    until(lambda: "redacted" in kept.log())
    kept.stop()

    everything = b"".join(p.read_bytes() for p in kept.folder.rglob("*.jsonl"))
    assert b"[redacted value:ENGINE_KEY]" in everything
    assert b"top-secret-value" not in everything + (kept.folder / "engine.log").read_bytes()


def test_the_engine_runs_on_its_declared_cores(start: Start) -> None:
    core = min(os.sched_getaffinity(0))
    kept = start(SLEEP, cores=[core])

    assert kept.rows("started")[0]["cores"] == [core]
    assert os.sched_getaffinity(kept.engine_pid()) == {core}
    assert os.sched_getaffinity(kept.process.pid) == os.sched_getaffinity(0)
    kept.stop()


def test_when_the_keeper_is_killed_too_a_sweep_ends_the_rest(start: Start) -> None:
    kept = start(DAEMON)
    until(lambda: "up" in kept.log())
    kept.process.kill()
    kept.process.wait()
    until(lambda: processes.identify(kept.engine_pid()) is None)  # it dies with its keeper
    assert kept.tree()  # the daemon does not

    swept = sweep(kept.execution_id, kept.folder / "keeper", stop_timeout_s=0.2)

    assert kept.tree() == set()
    assert len(swept.ended) == 1
    assert swept.left == ()


def test_a_sweep_lets_a_living_keeper_do_it(start: Start) -> None:
    kept = start(SLEEP)

    swept = sweep(kept.execution_id, kept.folder / "keeper", stop_timeout_s=0.4)

    kept.process.wait(timeout=5)
    assert [p.pid for p in swept.ended] == [kept.process.pid]
    assert kept.rows("released")[0]["processes_left"] == []


@pytest.mark.forbids
def test_a_foreign_process_is_named_and_never_killed(tmp_path: Path) -> None:
    stranger = subprocess.Popen(["sleep", "60"])
    known = processes.identify(stranger.pid)
    assert known is not None
    ours = {**known.as_row(), "start_ticks": 1, "event": "seen"}  # our process had this pid before
    (tmp_path / JOURNAL).write_text(json.dumps(ours) + "\n")

    swept = sweep("an-execution-of-nobody", tmp_path, stop_timeout_s=0.2)

    assert [p.pid for p in swept.foreign] == [stranger.pid]
    assert swept.ended == ()
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()
