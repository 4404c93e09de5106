"""Drive Assay's load client against any OpenAI-style endpoint in a closed loop; sum up what it captured.

The figures are computed after the load, from the captured segments, as the reference client computes them:
TTFT from ``sent_ns`` to the read that completed the first content event; gaps between content events;
TPOT = (last content - first content) / (content events - 1). Milliseconds.
"""

import argparse
import json
import math
import tempfile
import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import httptools
import pyarrow.parquet as pq
import uvloop

from runners.load.driver import drive
from runners.load.recorder import Recorder, seal_attempts, seal_wire
from runners.load.report import DriveReport
from runners.protocol.segment_writer import SegmentWriter

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


def body_of(raw: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """(t, de-chunked piece) of one response."""
    pieces: list[tuple[int, bytes]] = []

    class Sink:
        t = 0

        def on_body(self, body: bytes) -> None:
            pieces.append((self.t, body))

    sink = Sink()
    parser = httptools.HttpResponseParser(sink)
    for t, data in raw:
        sink.t = t
        parser.feed_data(data)
    return pieces


def content_times(raw: list[tuple[int, bytes]]) -> tuple[list[int], list[int], bool]:
    """Arrival times of content events, the mock's own stamps beside them, and whether ``[DONE]`` came."""
    times: list[int] = []
    stamps: list[int] = []
    done, rest = False, b""
    for t, piece in body_of(raw):
        *events, rest = (rest + piece).split(b"\n\n")
        for event in events:
            if event == b"data: [DONE]":
                done = True
            elif event.startswith(b"data: "):
                document = json.loads(event[6:])
                choices = document["choices"]
                if choices and choices[0]["delta"].get("content"):
                    times.append(t)
                    stamps.append(document.get("sent_ns", t))
    return times, stamps, done


def mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def p99(values: list[float]) -> float | None:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.floor(len(ordered) * 0.99))] if ordered else None


def summary(folder: Path) -> dict[str, Any]:
    attempts = pq.read_table(
        folder / "attempts.parquet", columns=["attempt_id", "sent_ns", "end", "status"]
    )
    reads: dict[str, list[tuple[int, bytes]]] = defaultdict(list)
    for path in sorted((folder / "wire").glob("*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches():
            columns = (batch.column(i).to_pylist() for i in range(3))
            for attempt, t, data in zip(*columns, strict=True):
                reads[attempt].append((t, data))
    ttft: list[float] = []
    gaps: list[float] = []
    tpot: list[float] = []
    lag: list[float] = []
    failed = events = 0
    for row in attempts.to_pylist():
        times, stamps, done = content_times(reads[row["attempt_id"]])
        events += len(times)
        lag.extend((t - s) / 1e6 for t, s in zip(times, stamps, strict=True))
        if row["end"] != "closed" or row["status"] != 200 or not done or not times:
            failed += 1
            continue
        ttft.append((times[0] - row["sent_ns"]) / 1e6)
        gaps.extend((b - a) / 1e6 for a, b in pairwise(times))
        if len(times) > 1:
            tpot.append((times[-1] - times[0]) / 1e6 / (len(times) - 1))
    return {
        "ttft_mean": mean(ttft),
        "ttft_p99": p99(ttft),
        "itl_mean": mean(gaps),
        "itl_p99": p99(gaps),
        "tpot_mean": mean(tpot),
        "tpot_p99": p99(tpot),
        "lag_mean": mean(lag),
        "lag_p99": p99(lag),
        "ok": attempts.num_rows - failed,
        "failed": failed,
        "events": events,
        "parquet_bytes": sum(p.stat().st_size for p in folder.rglob("*.parquet")),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--model", default="mock")
    parser.add_argument("--concurrency", type=int, default=1)
    parser.add_argument("--requests", type=int, default=10)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--prompt", default=" time" * 32)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--no-analysis", action="store_true", help="for profiling the load alone")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as name:
        folder = Path(name)
        writer = SegmentWriter(folder / "segments", limit_bytes=LIMIT_BYTES)
        recorder = Recorder(writer)
        writer.start()
        cpu = time.process_time()
        report = uvloop.run(load(arguments, recorder))
        cpu = time.process_time() - cpu
        writer.close()
        document: dict[str, Any] = {"load_cpu_s": cpu, "client_error": report.client_error}
        if not arguments.no_analysis:
            seal_attempts(folder / "segments", folder)
            seal_wire(folder / "segments", folder)
            document |= summary(folder)
        arguments.json.write_text(json.dumps(document))


if __name__ == "__main__":
    main()
