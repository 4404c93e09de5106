"""Bring what the engine and its keeper wrote into the bundle: joined, bounded, without secrets.

Each loss is written to the session log as soon as it is made, because it could not be found out later.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runners.evidence import logs, sampler
from runners.evidence.keeper import JOURNAL
from runners.evidence.record import REDACTIONS
from runners.evidence.secrets import Redactor
from runners.protocol import layout, sealing
from runners.protocol.documents import Gap
from runners.protocol.session_log import SessionLog
from runners.protocol.workspace import Workspace, json_lines, read_json, write_json


def bring_in(
    workspace: Workspace, log: SessionLog, spec: Mapping[str, Any], redactor: Redactor
) -> None:
    """``engine.log``, ``engine_events.jsonl``, ``keeper.jsonl`` and ``redactions.json`` of the bundle."""
    bundle, limit = workspace.bundle, int(spec["evidence"]["stream_limit_bytes"])
    workspace.keeper.mkdir(exist_ok=True)
    _join_log(workspace, log, limit)
    _fetch_events(workspace)
    if (journal := workspace.keeper / JOURNAL).exists():
        sealing.copy(journal, bundle / layout.KEEPER)
    for name in (layout.KEEPER, layout.ENGINE_EVENTS):
        for gap in sealing.bound_lines(bundle / name, limit_bytes=limit):
            log.gap(gap)
    entries = _redact_events(workspace, redactor)
    entries += [
        {"file": layout.ENGINE_LOG, **row}
        for row in json_lines(workspace.keeper / "redactions.jsonl")
    ]
    entries += json_lines(workspace.segments / sampler.REDACTIONS)
    for notes in sorted(workspace.root.glob(f"{Path(REDACTIONS).stem}*.jsonl")):
        entries += json_lines(notes)  # of the runner, and of each client process beside it
    sealing.write_document(bundle / layout.REDACTIONS, {"replaced": entries})


def _join_log(workspace: Workspace, log: SessionLog, limit: int) -> None:
    joined = logs.assemble(
        workspace.bundle / layout.ENGINE_LOG,
        workspace.keeper,
        times=workspace.bundle / layout.ENGINE_LOG_TIMES,
        redactions=workspace.keeper / "redactions.jsonl",
    )
    if joined.lost_bytes:
        log.gap(
            Gap(
                what=f"{layout.ENGINE_LOG}: {joined.lost_bytes} bytes after offset {joined.cut_at} left "
                f"out at the limit of {limit}",
                affects="facts that the engine prints between its head and its tail",
                needed="a larger evidence.stream_limit_bytes",
                state="open",
            )
        )
    told = [r for r in json_lines(workspace.keeper / JOURNAL) if r.get("event") == "released"]
    if told and (lost := told[-1].get("log_bytes_lost_to_full_disk")):
        log.gap(
            Gap(
                what=f"{layout.ENGINE_LOG}: {lost} bytes could not be written, the disk was full",
                affects="facts that the engine printed after that",
                needed="room on the disk for the whole capture",
                state="open",
            )
        )


def _fetch_events(workspace: Workspace) -> None:
    """An engine that keeps its event log elsewhere: take a copy."""
    stated = (read_json(workspace.launch) or {}).get("events_file")
    target = workspace.bundle / layout.ENGINE_EVENTS
    if stated and not target.exists() and Path(stated).is_file():
        sealing.copy(Path(stated), target)


def _redact_events(workspace: Workspace, redactor: Redactor) -> list[dict[str, Any]]:
    """Replace secrets in the engine's own event log, which the engine wrote by itself.

    The entries are on disk before the file is replaced: a second look would not find them again.
    """
    path, noted = workspace.bundle / layout.ENGINE_EVENTS, workspace.root / "event_redactions.json"
    known = read_json(noted)
    if known is None:
        known = _find(path, redactor)
        write_json(noted, known)
    if known:
        _rewrite(path, redactor)  # done twice it changes nothing
    return list(known)


def _find(path: Path, redactor: Redactor) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    offset = 0
    if path.exists():
        with path.open("rb") as source:
            for line in source:
                clean, found = redactor.redact(line, base=offset)
                offset += len(clean)
                entries += [
                    {"file": layout.ENGINE_EVENTS, "offset": f.offset, "rule": f.rule}
                    for f in found
                ]
    return entries


def _rewrite(path: Path, redactor: Redactor) -> None:
    part = path.with_name(path.name + ".part")
    with path.open("rb") as source, part.open("wb") as out:
        out.writelines(redactor.redact(line)[0] for line in source)
    part.replace(path)
