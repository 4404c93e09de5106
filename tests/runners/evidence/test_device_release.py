"""Memory of devices after a run: given back, held by a process of the run, or by somebody unknown."""

import json
from pathlib import Path
from typing import Any

import pytest

from runners.evidence import device_release

BEFORE = [
    (1, "nvml:0", None, "memory_used_bytes", 5.0, "byte"),
    (1, "nvml:0", 99, "process_memory_bytes", 5.0, "byte"),
]


def after(*pids: int) -> list[Any]:
    held = [(9, "nvml:0", pid, "process_memory_bytes", 3.0, "byte") for pid in pids]
    return [(9, "nvml:0", None, "memory_used_bytes", 6.0, "byte"), *held]


@pytest.mark.req("8.13")
@pytest.mark.parametrize(
    ("pids", "state"), [((99,), "released"), ((99, 7), "held"), ((99, 8), "unknown")]
)
def test_who_holds_memory_now_and_did_not_before(
    tmp_path: Path, pids: tuple[int, ...], state: str
) -> None:
    journal = tmp_path / "keeper.jsonl"
    journal.write_text(json.dumps({"event": "seen", "pid": 7}) + "\n")

    (check,) = device_release.check(BEFORE, after(*pids), journal)

    assert (check["check"], check["state"]) == ("device_memory", state)
    assert check["value"]["used_bytes"] == {"before": {"nvml:0": 5.0}, "after": {"nvml:0": 6.0}}
    assert (check["reason"] is None) == (state != "unknown")


def test_without_a_device_there_is_no_such_check(tmp_path: Path) -> None:
    assert device_release.check([], [], tmp_path / "none") == []
