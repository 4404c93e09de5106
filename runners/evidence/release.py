"""What came back after the run, and how far, each answer with its evidence. Without evidence: unknown.

One reading of free memory proves nothing; that a process is gone does, because the kernel takes back all
it held. The readings stand beside it for the reader.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

from runners.protocol import layout
from runners.protocol.events import EngineEvent, ReleaseLevel, ReleaseState


class ReleaseCheck(TypedDict):
    """One check. ``level`` is what a positive answer reaches; null where the check reaches none."""

    check: str
    level: str | None
    state: str  # ReleaseState
    value: dict[str, Any]
    evidence: dict[str, Any] | None
    reason: str | None


def checks(events: Path, keeper_journal: Path) -> list[ReleaseCheck]:
    """Blocks as the engine counted them, processes, memory and port as the keeper found them."""
    told = _last_event(keeper_journal, "released")
    evidence, released = None, None
    if told is not None:
        evidence, released = {"file": layout.KEEPER, "line": told[0]}, told[1]
    return [
        _blocks(events),
        _processes(released, evidence),
        _memory(released, evidence),
        _port(released, evidence),
    ]


def _blocks(events: Path) -> ReleaseCheck:
    found = _last_event(events, EngineEvent.kv_released.value)
    level = ReleaseLevel.blocks_dropped.value
    if found is None:
        return _unknown("kv_blocks", level, "the engine recorded no release of KV blocks")
    line, row = found
    used = row.get("used", (row.get("value") or {}).get("used"))
    stated = row.get("level", (row.get("value") or {}).get("level"))
    state = ReleaseState.released if used == 0 else ReleaseState.held
    return ReleaseCheck(
        check="kv_blocks",
        level=stated or level,
        state=(ReleaseState.unknown if used is None else state).value,
        value={"used_blocks": used},
        evidence={"file": layout.ENGINE_EVENTS, "line": line},
        reason=None if used is not None else "its last release names no count",
    )


def _processes(released: Mapping[str, Any] | None, evidence: dict[str, Any] | None) -> ReleaseCheck:
    level = ReleaseLevel.process_returned.value
    if released is None:
        return _unknown("processes", level, "the keeper gave no account of the stop")
    left, containers = released["processes_left"], released.get("containers_left", [])
    if containers is None and not left:
        return _unknown("processes", level, "docker did not say whether a container is left")
    held = bool(left or containers)
    return ReleaseCheck(
        check="processes",
        level=level,
        state=(ReleaseState.held if held else ReleaseState.released).value,
        value={"left": left, "exit_code": released["exit_code"]}
        | ({"containers_left": containers} if containers else {}),
        evidence=evidence,
        reason=None,
    )


def _memory(released: Mapping[str, Any] | None, evidence: dict[str, Any] | None) -> ReleaseCheck:
    before = None if released is None else released["available_bytes_before"]
    after = None if released is None else released["available_bytes_after"]
    if released is None or before is None or after is None:
        return _unknown("host_memory", None, "free memory was not read before and after")
    gone = not released["processes_left"] and released.get("containers_left", []) == []
    return ReleaseCheck(
        check="host_memory",
        level=ReleaseLevel.process_returned.value if gone else None,
        state=(ReleaseState.released if gone else ReleaseState.unknown).value,
        value={
            "available_bytes_before": before,
            "available_bytes_after": after,
            "difference_bytes": after - before,
        },
        evidence=evidence,
        reason="shown by the end of every process; the two readings of free memory are context and prove "
        "nothing by themselves"
        if gone
        else "processes are left, and a reading of free memory proves nothing",
    )


def _port(released: Mapping[str, Any] | None, evidence: dict[str, Any] | None) -> ReleaseCheck:
    if released is None or released["port_free"] is None:
        return _unknown("port", None, "the port was not looked at")
    return ReleaseCheck(
        check="port",
        level=None,
        state=(ReleaseState.released if released["port_free"] else ReleaseState.held).value,
        value={"port": released["port"], "holder": released["port_holder"]},
        evidence=evidence,
        reason=None,
    )


def _unknown(check: str, level: str | None, reason: str) -> ReleaseCheck:
    return ReleaseCheck(
        check=check,
        level=level,
        state=ReleaseState.unknown.value,
        value={},
        evidence=None,
        reason=reason,
    )


def _last_event(path: Path, event: str) -> tuple[int, dict[str, Any]] | None:
    """Line number (from 1) and row of the last event of this kind."""
    if not path.exists():
        return None
    wanted = f'"{event}"'.encode()
    found: tuple[int, bytes] | None = None
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            if wanted in line:
                found = (number, line)
    if found is None:
        return None
    try:
        row = json.loads(found[1])
    except ValueError:
        return None
    return (found[0], row) if row.get("event") == event else None
