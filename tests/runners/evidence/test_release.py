"""Release levels come with evidence; without it they are unknown."""

import json
from pathlib import Path
from typing import Any

import pytest

from runners.evidence.release import checks

RELEASED = {
    "event": "released",
    "processes_left": [],
    "exit_code": 0,
    "port": 8000,
    "port_free": True,
    "port_holder": None,
    "available_bytes_before": 1000,
    "available_bytes_after": 900,
}


def found(tmp_path: Path, events: list[dict[str, Any]], keeper: list[dict[str, Any]]) -> Any:
    for name, rows in (("events", events), ("keeper", keeper)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {c["check"]: c for c in checks(tmp_path / "events", tmp_path / "keeper")}


@pytest.mark.req("8.13")
def test_the_level_is_what_the_engine_says_with_its_line(tmp_path: Path) -> None:
    events = [
        {"event": "kv_taken", "used": 2},
        {"event": "kv_released", "used": 1, "level": "blocks_dropped"},
        {"event": "kv_released", "used": 0, "level": "blocks_reusable"},
    ]

    check = found(tmp_path, events, [])["kv_blocks"]

    assert (check["state"], check["level"]) == ("released", "blocks_reusable")
    assert check["evidence"] == {"file": "engine_events.jsonl", "line": 3}


def test_blocks_still_in_use_are_held(tmp_path: Path) -> None:
    check = found(tmp_path, [{"event": "kv_released", "used": 3}], [])["kv_blocks"]

    assert check["state"] == "held"


@pytest.mark.req("8.15")
@pytest.mark.forbids
def test_without_evidence_every_level_is_unknown(tmp_path: Path) -> None:
    for check in found(tmp_path, [], []).values():
        assert check["state"] == "unknown"
        assert check["evidence"] is None
        assert check["reason"]


@pytest.mark.req("8.14")
@pytest.mark.forbids
def test_a_reading_of_free_memory_alone_proves_nothing(tmp_path: Path) -> None:
    left = {**RELEASED, "processes_left": [{"pid": 5}], "available_bytes_after": 5000}

    check = found(tmp_path, [], [left])["host_memory"]

    assert check["state"] == "unknown"
    assert check["level"] is None


def test_the_end_of_every_process_returns_its_memory(tmp_path: Path) -> None:
    checked = found(tmp_path, [], [{"event": "started"}, RELEASED])

    assert checked["processes"]["level"] == "process_returned"
    assert checked["processes"]["state"] == "released"
    assert checked["processes"]["evidence"] == {"file": "keeper.jsonl", "line": 2}
    assert checked["host_memory"]["value"]["difference_bytes"] == -100  # stated, not judged
    assert checked["port"]["state"] == "released"
