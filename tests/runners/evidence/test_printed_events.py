"""Events out of an engine's log stand among its own, in order of time, once."""

import json
from pathlib import Path

from runners.evidence import closing
from runners.protocol import layout
from runners.protocol.workspace import Workspace

OWN = b'{"event":"front_received","t_ns":20,"request":"a"}\n'
TORN = b'{"event":"front_wri'


def taken(root: Path, own: bytes) -> list[bytes]:
    """The event log after reading the same printed rows twice, as a resumed sealing does."""
    workspace = Workspace(root)
    workspace.bundle.mkdir()
    workspace.segments.mkdir()
    path = workspace.bundle / layout.ENGINE_EVENTS
    if own:
        path.write_bytes(own)
    rows = [
        {"event": "clock", "t_ns": 10, "process": "printed"},
        {"event": "queued", "t_ns": 30, "request": "a", "source": "engine.log:1"},
    ]
    for _ in range(2):
        closing._take_printed(workspace, lambda anchors, clock_domain: rows)
    return path.read_bytes().splitlines()


def events(lines: list[bytes]) -> list[str]:
    return [json.loads(line)["event"] for line in lines]


def test_both_are_in_order_of_time_and_none_is_there_twice(tmp_path: Path) -> None:
    assert events(taken(tmp_path, OWN)) == ["clock", "front_received", "queued"]


def test_an_engine_without_a_log_of_its_own_has_the_printed_events(tmp_path: Path) -> None:
    assert events(taken(tmp_path, b"")) == ["clock", "queued"]


def test_a_torn_line_stays_and_stays_last(tmp_path: Path) -> None:
    lines = taken(tmp_path, OWN + TORN)

    assert lines[-1] == TORN
    assert events(lines[:-1]) == ["clock", "front_received", "queued"]
