"""The load client alone, without a session around it: for benchmarks that look at what it captures."""

import argparse
import json
from typing import Any

from runners.load.driver import drive
from runners.load.recorder import Recorder
from runners.load.report import DriveReport

LIMIT_BYTES = 4 * 2**30
NEVER: dict[str, Any] = {"connect_s": 30.0, "first_byte_s": None, "total_s": None}


def plan_row(number: int, *, slot: int, tokens: int) -> dict[str, Any]:
    request = f"load-{number:06d}"
    return {
        "sequence": number,
        "phase": "measure",
        "segment": "load",
        "case": None,
        "task_id": f"T-{request}",
        "session_id": f"S-{request}",
        "request_id": request,
        "model_call_id": f"M-{request}",
        "call_type": "generation",
        "endpoint": "chat",
        "offset_ns": None,
        "slot": slot,
        "prompt_ref": "p",
        "input_sha256": None,
        "input_tokens": None,
        "output_cap": tokens,
        "sampling_seed": None,
        "temperature": 0.0,
        "top_p": 1.0,
        "top_k": 0,
        "stop": [],
        "ignore_eos": True,
        "cancel_after_chunks": None,
        "cancel_after_ns": None,
    }


async def load(arguments: argparse.Namespace, recorder: Recorder) -> DriveReport:
    n = arguments.concurrency
    rows = [plan_row(i + 1, slot=i % n, tokens=arguments.tokens) for i in range(arguments.requests)]
    messages = json.dumps([{"role": "user", "content": arguments.prompt}])
    return await drive(
        rows,
        {"p": {"messages": messages, "expanded": None, "token_ids": None}},
        base_url=arguments.url,
        model=arguments.model,
        load={
            "kind": "closed",
            "concurrency": n,
            "rate_per_s": None,
            "think_time_s": 0.0,
            "max_send_lag_s": 0.05,
            "connection_reuse": True,
            "drain_s": 600.0,
            "timeouts": NEVER,
            "retry": {"count": 0, "backoff_s": 0.0, "jitter": 0.0, "give_up": "count"},
            "seed": 0,
        },
        recorder=recorder,
    )
