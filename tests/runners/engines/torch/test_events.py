"""The event log of two processes: whole lines, whatever happens to a writer."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runners.engines.torch.events import EventLog
from runners.protocol.clocks import clock_domain
from runners.protocol.events import EngineEvent

WRITER = """
import sys
from pathlib import Path
from runners.engines.torch.events import EventLog, now_ns
from runners.protocol.events import EngineEvent
log = EventLog(Path(sys.argv[1]), process=sys.argv[2])
number = 0
while True:
    for _ in range(50):
        log.append(EngineEvent.token, now_ns(), f"{sys.argv[2]}-request", index=number, padding="x" * 200)
        number += 1
    log.flush()
"""


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_first_line_names_the_clock_of_the_process(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"

    EventLog(path, process="front").close()

    (first,) = lines(path)
    assert first["event"] == "clock"
    assert first["clock_domain"] == clock_domain()
    assert (first["process"], first["pid"]) == ("front", os.getpid())


@pytest.mark.fault
def test_two_writers_that_are_killed_leave_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in ("a", "b")
    ]
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        time.sleep(0.05)
        written = path.read_bytes() if path.exists() else b""
        if len(written) > 2_000_000 and all(f'"{n}-request"'.encode() in written for n in "ab"):
            break
    for writer in writers:
        writer.send_signal(signal.SIGKILL)
        writer.wait(10)

    rows = lines(path)  # every line parses: none is torn, none is mixed

    for name in ("a", "b"):
        own = [row["index"] for row in rows if row.get("request") == f"{name}-request"]
        assert own == list(range(len(own)))
        assert own


@pytest.mark.fault
def test_lines_that_a_full_disk_refuses_are_counted() -> None:
    log = EventLog(Path("/dev/full"), process="loop")
    dropped_first = log.dropped  # the clock line

    log.append(EngineEvent.token, 1, "a", index=0)
    log.append(EngineEvent.token, 2, "a", index=1)
    log.flush()

    assert (dropped_first, log.dropped) == (1, 3)
    assert log.problem is not None
    assert "No space left" in log.problem


def test_a_line_after_a_torn_one_begins_on_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "events.jsonl"
    log = EventLog(path, process="loop")
    real = os.write
    with monkeypatch.context() as patched:
        patched.setattr("os.write", lambda descriptor, data: real(descriptor, data[:20]))
        log.write(EngineEvent.token, 1, "a", index=0)
    log.write(EngineEvent.token, 2, "a", index=1)

    torn, whole = path.read_text().splitlines()[1:]

    assert len(torn) == 20
    assert json.loads(whole)["index"] == 1
    assert log.dropped == 1
