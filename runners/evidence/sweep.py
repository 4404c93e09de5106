"""Find and end whatever an execution left running when its keeper is gone too.

Own processes are those the keeper wrote down (pid, start time and boot id all equal) and those whose start
environment names the execution. Whatever else holds the port is foreign: it is named and left alone.
"""

import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.environments import docker
from runners.evidence import container_end, processes
from runners.evidence.keeper import CONFIG, JOURNAL
from runners.evidence.processes import ProcessId
from runners.protocol.workspace import json_lines, read_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What a sweep did. ``foreign`` are live processes of somebody else on our port or under a reused pid."""

    ended: tuple[ProcessId, ...]
    left: tuple[ProcessId, ...]
    foreign: tuple[ProcessId, ...]
    containers: Mapping[str, Any] | None = None  # null: the engine did not run in any

    def as_row(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            name: [p.as_row() for p in getattr(self, name)] for name in ("ended", "left", "foreign")
        }
        return found if self.containers is None else {**found, "containers": dict(self.containers)}


def sweep(execution_id: str, keeper_folder: Path, *, stop_timeout_s: float = 10.0) -> Swept:
    """End every process of the execution: first the keeper's own way, then by hand."""
    rows = json_lines(keeper_folder / JOURNAL)
    recorded = [p for row in rows if (p := _process(row)) is not None]
    keepers = [p for row in rows if row.get("event") == "keeper" and (p := _process(row))]
    seen: dict[tuple[int, int], ProcessId] = {}
    for keeper in keepers:
        if processes.send(keeper, signal.SIGTERM):
            seen[keeper.pid, keeper.start_ticks] = keeper
            _await(lambda keeper=keeper: not processes.alive(keeper), stop_timeout_s + 12.0)
    containers = _end_containers(execution_id, keeper_folder, stop_timeout_s)
    for number, patience_s in ((signal.SIGTERM, stop_timeout_s), (signal.SIGKILL, 5.0)):
        deadline = time.monotonic() + patience_s
        asked: set[tuple[int, int]] = set()
        while (tree := _own(execution_id, recorded)) and time.monotonic() < deadline:
            for process in tree:
                key = (process.pid, process.start_ticks)
                if key not in asked:
                    asked.add(key)
                    seen[key] = process
                    processes.send(process, number)
            time.sleep(0.02)
    left = tuple(_own(execution_id, recorded))
    ended = tuple(p for p in seen.values() if not processes.alive(p))
    return Swept(
        ended=ended,
        left=left,
        foreign=tuple(_foreign(rows, recorded)),
        containers=containers,
    )


def _end_containers(
    execution_id: str, keeper_folder: Path, patience_s: float
) -> Mapping[str, Any] | None:
    """Containers outlive the keeper that asked for them. Which docker it asked is in its configuration."""
    cli = (read_json(keeper_folder / CONFIG) or {}).get("docker")
    if cli is None:
        return None
    problems: list[str] = []

    def call(words: Sequence[str], timeout_s: float) -> None:
        try:
            docker.ask(cli, words, timeout_s=timeout_s)
        except docker.DockerProblem as problem:
            problems.append(str(problem))

    def note(_: str, **fields: Any) -> None:
        if "problem" in fields:
            problems.append(str(fields["problem"]))

    found = container_end.left(cli, execution_id, note)
    left = container_end.end(
        cli, execution_id, patience_s=patience_s, call=call, wait=time.sleep, note=note
    )
    return {"found": found, "left": left, "problems": list(dict.fromkeys(problems))}


def _await(condition: Any, patience_s: float) -> None:
    deadline = time.monotonic() + patience_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)


def _process(row: dict[str, Any]) -> ProcessId | None:
    if not {"pid", "start_ticks", "boot_id"} <= row.keys():
        return None
    return ProcessId(
        pid=row["pid"],
        start_ticks=row["start_ticks"],
        boot_id=row["boot_id"],
        command=row.get("command", ""),
    )


def _own(execution_id: str, recorded: list[ProcessId]) -> list[ProcessId]:
    found = {p.pid: p for p in recorded if processes.alive(p)}
    below = set().union(*(processes.descendants(pid) for pid in found)) if found else set()
    for process in processes.identities(processes.carrying(execution_id) | below):
        found.setdefault(process.pid, process)
    found.pop(os.getpid(), None)
    return list(found.values())


def _foreign(rows: list[dict[str, Any]], recorded: list[ProcessId]) -> list[ProcessId]:
    """Whoever listens on our port now, and whoever has one of our pids after us."""
    own = {(p.pid, p.start_ticks, p.boot_id) for p in recorded}
    candidates = [processes.identify(p.pid) for p in recorded]
    candidates += [processes.listener(row["port"]) for row in rows if row.get("port")]
    foreign = {
        (p.pid, p.start_ticks): p
        for p in candidates
        if p is not None and (p.pid, p.start_ticks, p.boot_id) not in own
    }
    return list(foreign.values())
