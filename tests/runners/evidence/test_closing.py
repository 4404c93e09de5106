"""A closing that dies at any step is taken up again, by whoever comes, with the same end."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from runners.evidence import closing, engine_records, observation
from runners.evidence.closing import Ending, Observed
from runners.protocol import layout, manifest, sealing, session_log, tables
from runners.protocol.events import RunState, SessionEvent
from runners.protocol.segment_writer import SegmentWriter
from runners.protocol.session_log import SessionLog
from runners.protocol.workspace import Workspace, json_lines
from tests.runners import prepared


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """An execution that has just stopped driving."""
    workspace = Workspace(prepared.prepare(tmp_path / "run", secret_names=["KEY"]))
    log(workspace).write(SessionEvent.prepared)
    writer = SegmentWriter(workspace.segments, limit_bytes=2**20)
    scrapes = writer.open("scrapes", tables.SCRAPES)
    scrapes.append((1, 2, "/metrics", 200, "x 1\n", None))
    writer.close()
    (workspace.bundle / layout.ENGINE_EVENTS).write_text(
        '{"event": "clock", "process": "front", "clock_domain": "b/1/monotonic"}\n'
        '{"event": "config", "key": "top-secret-value"}\n'
        '{"event": "fini'
    )
    return workspace


def log(workspace: Workspace) -> SessionLog:
    return SessionLog(workspace.bundle / layout.SESSION)


def close(workspace: Workspace, ending: Ending, observed: Observed | None = None) -> str:
    return closing.close(
        workspace, log(workspace), ending, identify=lambda _: [], observed=observed
    )


SEALED = Ending(state=RunState.sealed, reason=None)
LOST = Ending(state=RunState.lost, reason="the runner died")


@pytest.mark.fault
@pytest.mark.parametrize(
    ("owner", "step", "state"),
    [
        (engine_records, "_redact_events", "lost"),
        (engine_records, "_rewrite", "lost"),
        (sealing, "convert_streams", "lost"),
        (observation, "document", "lost"),
        (closing, "_decide", "lost"),
        (sealing, "finish", "sealed"),  # the decision was on disk already
        (manifest, "build", "sealed"),
    ],
)
def test_a_closing_that_died_is_finished_by_the_reaper(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, owner: Any, step: str, state: str
) -> None:
    monkeypatch.setenv("KEY", "top-secret-value")

    with monkeypatch.context() as patch:
        patch.setattr(owner, step, _dies)
        with pytest.raises(KeyboardInterrupt):
            close(workspace, SEALED)
    digest = close(workspace, LOST)

    found = manifest.verify(workspace.bundle)
    assert (found.problems, found.bundle_digest) == ((), digest)
    assert manifest.read(workspace.bundle)["state"] == state
    assert pq.read_metadata(workspace.bundle / layout.SCRAPES).num_rows == 1
    events = (workspace.bundle / layout.ENGINE_EVENTS).read_text()
    assert "top-secret-value" not in events
    replaced = json.loads((workspace.bundle / layout.REDACTIONS).read_bytes())["replaced"]
    assert [entry["file"] for entry in replaced] == [layout.ENGINE_EVENTS]
    whats = [r["what"] for r in session_log.read(workspace.bundle / layout.SESSION) if "what" in r]
    assert len(whats) == len(set(whats))
    assert any("its last line was cut in the middle" in what for what in whats)


def _dies(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def test_a_closed_execution_is_left_as_it_is(workspace: Workspace) -> None:
    digest = close(workspace, SEALED)

    assert close(workspace, LOST) == digest


def test_an_engine_without_events_of_its_own_is_seen_from_outside_only(
    workspace: Workspace,
) -> None:
    (workspace.bundle / layout.ENGINE_EVENTS).unlink()

    close(workspace, SEALED)

    assert manifest.read(workspace.bundle)["level"] == "E1"


@pytest.mark.req("3.17")
def test_an_engine_of_another_clock_domain_is_uncalibrated(workspace: Workspace) -> None:
    close(workspace, SEALED)

    clocks = json.loads((workspace.bundle / layout.CLOCKS).read_bytes())
    foreign = [d for d in clocks["domains"] if d["id"] == "b/1/monotonic"]
    assert [(d["calibration"], d["error_ns"]) for d in foreign] == [("uncalibrated", None)]


def test_declared_secrets_that_are_not_set_are_a_gap(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KEY", raising=False)

    close(workspace, SEALED)

    gaps = [r for r in session_log.read(workspace.bundle / layout.SESSION) if r["event"] == "gap"]
    assert any("declared secrets KEY" in gap["what"] for gap in gaps)


def test_a_stream_whose_writer_gave_up_is_a_gap(workspace: Workspace) -> None:
    ended = {"reason": "No space left on device", "rows_dropped": 12}
    close(workspace, LOST, Observed(client_streams=[{"stream": "wire", "ended": ended, **_NONE}]))

    gaps = [r for r in session_log.read(workspace.bundle / layout.SESSION) if r["event"] == "gap"]
    assert any("wire: capture ended early (No space left" in gap["what"] for gap in gaps)
    seen = json.loads((workspace.bundle / layout.OBSERVATION).read_bytes())
    [socket] = [p for p in seen["points"] if p["point"] == "client_socket"]
    assert socket["dropped"] == 12


_NONE = {"rows_given_up": 0, "worker": 0}


def test_an_event_log_kept_elsewhere_is_taken_in(workspace: Workspace, tmp_path: Path) -> None:
    (workspace.bundle / layout.ENGINE_EVENTS).unlink()
    elsewhere = tmp_path / "events.jsonl"
    elsewhere.write_text('{"event": "clock"}\n')
    workspace.launch.write_text(json.dumps({"events_file": str(elsewhere)}))

    close(workspace, SEALED)

    assert json_lines(workspace.bundle / layout.ENGINE_EVENTS) == [{"event": "clock"}]


def test_a_failed_end_is_written_for_people(workspace: Workspace) -> None:
    failed = Ending(state=RunState.failed, reason="it broke", phase="drive", last_lines=("ouch",))

    close(workspace, failed)

    error = json.loads((workspace.bundle / layout.ERROR).read_bytes())
    assert error == {
        "state": "failed",
        "reason": "it broke",
        "phase": "drive",
        "last_lines": ["ouch"],
    }
