"""Make a prepared execution for the echo engine, and run or start it as the platform would."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from runners.protocol import layout, tables
from runners.protocol.manifest import canonical

ROOT = Path(__file__).resolve().parents[2]
MAIN = ROOT / "tests" / "runners" / "engines" / "main_with_echo.py"
SEGMENTS = {"warmup": 1, "cases": 2, "load": 6, "profile": 1}


def prepare(
    out: Path,
    *,
    settings: Mapping[str, Any] | None = None,
    segments: Mapping[str, int] = SEGMENTS,
    tokens: int = 4,
    port: int | None = None,
    secret_names: Sequence[str] = (),
    evidence: Mapping[str, Any] | None = None,
    engine: Mapping[str, Any] | None = None,
    client_cores: Sequence[int] = (),
) -> Path:
    """A folder as ``python -m runners prepare`` leaves it, for the echo engine."""
    bundle = out / layout.BUNDLE_FOLDER
    bundle.mkdir(parents=True)
    rows, prompts = _plan(segments, tokens)
    pq.write_table(pa.Table.from_pylist(rows, schema=tables.PLAN), bundle / layout.PLAN)
    pq.write_table(pa.Table.from_pylist(prompts, schema=tables.PROMPTS), bundle / layout.PROMPTS)
    spec = _spec(settings or {}, evidence or {}, engine or {})
    spec["device"]["placement"]["client_cores"] = list(client_cores)
    (bundle / layout.SPEC).write_bytes(canonical(spec))
    identity = {"artifact": {"digest": "0" * 64, "name": "echo"}, "run": [], "complete": False}
    (bundle / layout.IDENTITY).write_bytes(canonical(identity))
    context = {
        "run_id": "0197a000-0000-7000-8000-000000000001",
        "execution_id": f"0197a000-{os.getpid():012d}-{out.name}",
        "repetition": 0,
        "study": "echo",
        "token": "t",
        "artifact_roots": [],
        "secret_names": list(secret_names),
        "artifact_files": {},
        "spec_digest": "1" * 64,
        "plan_digest": "2" * 64,
    }
    if port is not None:
        context["port"] = port
    (out / layout.CONTEXT).write_bytes(canonical(context))
    return out


def predict(out: Path, **changes: Any) -> None:
    """Predictions of this very plan, as the platform registers them."""
    document = {
        "registered_at": "2026-11-29T00:00:00Z",
        "spec_digest": "1" * 64,
        "plan_digest": "2" * 64,
        "predictions": [],
    }
    path = out / layout.BUNDLE_FOLDER / layout.PREDICTIONS
    path.write_bytes(canonical({**document, **changes}))


def _spec(
    settings: Mapping[str, Any], evidence: Mapping[str, Any], engine: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "artifact": {"name": "echo"},
        "engine": {
            "key": "echo",
            "version": "1.0",
            "environment": {"kind": "platform"},
            "ready_timeout_s": 20.0,
            "stop_timeout_s": 1.0,
            "settings": dict(settings),
            **engine,
        },
        "device": {
            "kind": "cpu",
            "count": 1,
            "placement": {"client_cores": [], "engine_cores": []},
        },
        "boundary": {
            "external_dependencies": [{"name": "search", "mocked": True, "fixed_delay_s": None}]
        },
        "workload": {"requests": 6},
        "load": {
            "kind": "closed",
            "concurrency": 2,
            "think_time_s": 0.0,
            "max_send_lag_s": 0.05,
            "connection_reuse": True,
            "drain_s": 5.0,
            "timeouts": {"connect_s": 5.0, "first_byte_s": 10.0, "total_s": 20.0},
            "retry": {"count": 0, "backoff_s": 0.0, "jitter": 0.0, "give_up": "count"},
            "processes": 1,
            "workers": 0,
            "seed": 0,
        },
        "evidence": {
            "content": "keep",
            "scrape_interval_s": 0.1,
            "telemetry_interval_s": 0.1,
            "anchor_interval_s": 0.1,
            "stream_limit_bytes": 2**24,
            "trace": {"enabled": True, "input_tokens": 4, "output_tokens": 4, "requests": 1},
            "calibrate_client": False,
            **evidence,
        },
    }


def _plan(
    segments: Mapping[str, int], tokens: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    messages = canonical([{"role": "user", "content": "count"}]).decode()
    ref = hashlib.sha256(messages.encode()).hexdigest()
    rows = []
    for segment, count in segments.items():
        for number in range(1, count + 1):
            request = f"{segment}-{number:04d}"
            case = ["short", "active_cancel"][number % 2] if segment == "cases" else None
            rows.append(
                {
                    "sequence": len(rows),
                    "phase": {"cases": "measure", "load": "measure"}.get(segment, segment),
                    "segment": segment,
                    "case": case,
                    "task_id": f"T-{request}",
                    "session_id": f"S-{request}",
                    "request_id": request,
                    "model_call_id": f"M-{request}",
                    "call_type": "generation",
                    "endpoint": "chat",
                    "slot": (number - 1) % 2 if segment == "load" else 0,
                    "prompt_ref": ref,
                    "input_tokens": 3,
                    "output_cap": 50 if case == "active_cancel" else tokens,
                    "sampling_seed": 0,
                    "temperature": 0.0,
                    "ignore_eos": True,
                    "cancel_after_chunks": 3 if case == "active_cancel" else None,
                }
            )
    prompt = {"prompt_ref": ref, "messages": messages, "expanded": "count", "token_ids": [1, 2, 3]}
    return rows, [prompt]


def start(verb: str, out: Path, *more: str, **environment: str) -> "subprocess.Popen[str]":
    """``python -m runners VERB OUT`` with the echo engine known, in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, str(MAIN), verb, str(out), *more],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(verb: str, out: Path, *more: str, **environment: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, the one JSON line of standard output, and standard error."""
    process = start(verb, out, *more, **environment)
    output, errors = process.communicate(timeout=60)
    lines = output.strip().splitlines()
    assert len(lines) == 1, (output, errors)
    return process.returncode, json.loads(lines[0]), errors


def session_rows(out: Path, event: str) -> list[dict[str, Any]]:
    path = out / layout.BUNDLE_FOLDER / layout.SESSION
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [row for row in map(json.loads, lines) if row["event"] == event]


def gaps(out: Path) -> str:
    """Everything the session log says to be missing, as one text."""
    return "\n".join(row["what"] for row in session_rows(out, "gap"))
