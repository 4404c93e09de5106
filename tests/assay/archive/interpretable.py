"""A sealed bundle small enough to check by hand: one completed load request, one cancelled case, one warm-up.

All instants are ms after an origin far from zero, as CLOCK_MONOTONIC is on a machine that has been up long.
"""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from runners.protocol import layout, manifest, tables
from tests.assay.analysis.engine import EngineLog, part
from tests.assay.analysis.streams import DONE, MS, delta, usage

ORIGIN_NS = 2**53 + 7  # JSON readers cannot hold this exactly
DOMAIN = "boot/1/monotonic"
HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def at(ms: float) -> int:
    return ORIGIN_NS + round(ms * MS)


def build(folder: Path, **changes: Any) -> str:
    """Write and seal the bundle; ``changes`` replace whole files by name. Returns its digest."""
    folder.mkdir(parents=True)
    (folder / layout.WIRE_FOLDER).mkdir()
    documents: dict[str, Any] = {
        layout.SPEC: spec(),
        layout.IDENTITY: {"artifact": None, "run": [], "complete": False, "missing": []},
        layout.OBSERVATION: observation(),
        layout.CLOCKS: {"origin_ns": str(ORIGIN_NS), "client_domain": DOMAIN, "domains": []},
    }
    for name, document in documents.items():
        (folder / name).write_bytes(manifest.canonical(changes.get(name, document)))
    _table(folder / layout.PLAN, tables.PLAN, changes.get(layout.PLAN, plan()))
    _table(folder / layout.ATTEMPTS, tables.ATTEMPTS, changes.get(layout.ATTEMPTS, attempts()))
    wire_path = folder / layout.WIRE_FOLDER / "0-0.parquet"
    _table(wire_path, tables.WIRE, changes.get("wire", wire()))
    (folder / layout.ENGINE_EVENTS).write_bytes(changes.get(layout.ENGINE_EVENTS, events()))
    (folder / layout.SESSION).write_bytes(changes.get(layout.SESSION, session()))
    for name, content in changes.get("more", {}).items():
        (folder / name).write_bytes(content)
    return manifest.build(folder, header={"state": "sealed", "run_id": None, "execution_id": None})


def spec() -> dict[str, Any]:
    return {
        "load": {"kind": "closed", "concurrency": 1},
        "contract": {
            "name": "one",
            "deadline_s": 60.0,
            "required_branches": 1,
            "all_branches_required": True,
            "degradation": "none",
            "retry_allowed": False,
            "success": "completed",
            "slo": {"ttft_s": 0.05, "tpot_s": 0.02},
        },
    }


def observation() -> dict[str, Any]:
    def point(layer: str, perspective: str, level: str) -> dict[str, str]:
        return {"point": layer, "layer": layer, "perspective": perspective, "level": level}

    return {
        "points": [
            point("client_socket", "client", "E1"),
            point("engine_loop", "server", "E2"),
            point("host", "server", "E2"),
        ]
    }


def plan() -> list[dict[str, Any]]:
    return [
        {"request_id": "warmup-0001", "phase": "warmup", "segment": "warmup"},
        {"request_id": "cases-0001", "phase": "measure", "segment": "cases"},
        {"request_id": "load-0001", "phase": "measure", "segment": "load"},
    ]


def attempts() -> list[dict[str, Any]]:
    def attempt(request: str, phase: str, start: float, end: str, ended: float, **more: Any) -> Any:
        return {
            "attempt_id": f"{request}.A1",
            "request_id": request,
            "task_id": f"T-{request}",
            "session_id": f"S-{request}",
            "model_call_id": f"M-{request}",
            "phase": phase,
            "segment": request.partition("-")[0],
            "created_ns": at(start),
            "sent_ns": at(start + 1),
            "connect_start_ns": at(start),
            "connected_ns": at(start + 0.5),
            "connection_reused": False,
            "ended_ns": at(ended),
            "end": end,
            "status": 200,
            **more,
        }

    return [
        attempt("warmup-0001", "warmup", 0, "closed", 90),
        attempt(
            "cases-0001", "measure", 100, "cancel", 200, case="active_cancel", detail="after_chunks"
        ),
        attempt("load-0001", "measure", 300, "closed", 371),
    ]


def wire() -> list[dict[str, Any]]:
    return [
        *_reply("warmup-0001.A1", [(50, delta("w", finish="stop", ids=[1]) + DONE)], ends=True),
        *_reply("cases-0001.A1", [(133, delta("x", ids=[1]))], ends=False),
        *_reply(
            "load-0001.A1",
            [
                (331, delta("a", ids=[1])),
                (351, delta("b", ids=[2])),
                (371, delta("c", ids=[3], finish="length") + usage(3, 32) + DONE),
            ],
            ends=True,
        ),
    ]


def _reply(attempt: str, pieces: list[tuple[float, str]], *, ends: bool) -> list[dict[str, Any]]:
    rows = []
    for i, (t, text) in enumerate(pieces):
        body = f"{len(text.encode()):x}\r\n{text}\r\n"
        tail = "0\r\n\r\n" if ends and i == len(pieces) - 1 else ""
        data = (HEAD if i == 0 else "") + body + tail
        rows.append({"attempt_id": attempt, "t_ns": at(t), "data": data.encode()})
    return rows


def events() -> bytes:
    """The case is cancelled inside its second step (``cancelled_in_decode``); the load completes."""
    log = EngineLog(DOMAIN)
    case, load, warmup = "cases-0001.A1", "load-0001.A1", "warmup-0001.A1"
    log.add("memory", 1, process="loop", rss_bytes=1000, kv_bytes_allocated=8 * 4096)
    log.add("front_received", 1, warmup)
    log.add("queued", 2, warmup)
    log.add("front_received", 102, case)
    log.add("queued", 103, case)
    log.add("scheduled", 110, case)
    log.add("kv_taken", 110, case, blocks=4, used=4, total=8)
    log.step(110, 20, part(case, 32, 1, 32, phase="prefill"), number=1)
    log.add("first_token", 130, case, index=0)
    log.step(195, 20, part(case, 1, 1, 33, phase="decode"), number=2)
    log.add("front_disconnected", 202, case, writes=2)
    log.add("cancelled", 215, case, tokens_out=2, phase="decode", reason="client disconnected")
    log.add("kv_released", 216, case, blocks=4, used=0, total=8, level="blocks_reusable")
    log.add("front_received", 302, load)
    log.add("queued", 303, load)
    log.add("scheduled", 305, load)
    log.add("kv_taken", 305, load, blocks=3, used=3, total=8)
    log.step(305, 25, part(load, 32, 1, 32, phase="prefill"), number=3)
    log.add("first_token", 330, load, index=0)
    log.step(330, 20, part(load, 1, 1, 33, phase="decode"), number=4)
    log.add("token", 350, load, index=1)
    log.step(350, 20, part(load, 1, 1, 34, phase="decode"), number=5)
    log.add("token", 370, load, index=2)
    log.add("finished", 370, load, reason="length", tokens_out=3)
    log.add("kv_released", 370, load, blocks=3, used=0, total=8, level="blocks_reusable")
    log.add("front_finished", 371, load, state="completed")
    rows = [{**row, "t_ns": row["t_ns"] + ORIGIN_NS} for row in log.rows]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def session(*extra: dict[str, Any], predictions: bytes | None = None) -> bytes:
    import hashlib

    rows: list[dict[str, Any]] = [{"event": "prepared", "t_ns": at(-100)}]
    if predictions is not None:
        digest = hashlib.sha256(predictions).hexdigest()
        rows.append({"event": "predictions_registered", "t_ns": at(-90), "sha256": digest})
    rows += [
        {"event": "launch", "t_ns": at(-80)},
        {"event": "ready", "t_ns": at(-10)},
        *extra,
        {
            "event": "release_check",
            "t_ns": at(500),
            "check": "processes",
            "level": "process_returned",
            "state": "released",
            "clock_domain": DOMAIN,
        },
    ]
    return b"".join(json.dumps({"clock_domain": DOMAIN, **row}).encode() + b"\n" for row in rows)


def _table(path: Path, schema: pa.Schema, rows: list[dict[str, Any]]) -> None:
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
