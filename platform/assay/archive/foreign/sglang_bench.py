"""Results of SGLang ``bench_serving --output-file`` (``--output-details`` for the requests): one line a run.

The lines hold neither start times nor latencies: what ends at ``[DONE]`` cannot be computed again from them.
"""

from typing import Any

import numpy as np

from assay.analysis.compat.figures import Figure
from assay.analysis.compat.rows import Span, ToolRow
from assay.analysis.quantities import NS_PER_S
from assay.archive.foreign import fields
from assay.archive.foreign.result import ForeignCall, ForeignResult
from assay.archive.foreign.summary import bench_summary, figure, told
from assay.archive.foreign.vllm_bench import instants
from runners.protocol.events import ClientState

_LISTS = ("ttfts", "itls", "input_lens", "output_lens", "errors")
_NAMES = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2e": "e2e_latency"}
_NO_LATENCY = "the file holds neither start times nor latencies of requests"


def recognises(document: Any) -> bool:
    return isinstance(document, dict) and {"mean_e2e_latency_ms", "accept_length"} <= set(document)


def read(document: dict[str, Any]) -> ForeignResult:
    length = fields.duration_s(document.get("duration"), "duration")
    return ForeignResult(
        tool="sglang_bench",
        version=None,  # the file does not say
        model=None,
        calls=_calls(document),
        span=Span(from_ns=0, to_ns=max(1, round(length * NS_PER_S))),
        reported=_reported(document),
        has_starts=False,
        clock="time.perf_counter of the client",
        unknown={"e2e": _NO_LATENCY, "tpot": _NO_LATENCY, "concurrency": _NO_LATENCY},
    )


def _calls(document: dict[str, Any]) -> list[ForeignCall]:
    if "ttfts" not in document:
        return []
    columns = {name: fields.a_list(document.get(name), name) for name in _LISTS}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) != 1:
        fields.refuse(
            "lists of requests",
            ", ".join(f"{name} {n}" for name, n in lengths.items()),
            "lists of one length",
            "Give the file as bench_serving wrote it with --output-details.",
        )
    return [
        _call(i, {name: column[i] for name, column in columns.items()})
        for i in range(len(columns["ttfts"]))
    ]


def _call(i: int, own: dict[str, Any]) -> ForeignCall:
    error = fields.text(own["errors"])
    ttft = fields.duration_s(own["ttfts"], f"ttfts[{i}]")
    gaps = fields.durations_s(own["itls"], f"itls[{i}]")
    return ForeignCall(
        call_id=f"call-{i:06}",
        row=ToolRow(
            ok=error is None,
            start_ns=0,
            times_ns=instants(0.0, ttft, gaps) if ttft > 0 else np.zeros(0, dtype=np.int64),
            prompt_tokens=fields.count(own["input_lens"], f"input_lens[{i}]"),
            output_tokens=fields.count(own["output_lens"], f"output_lens[{i}]"),
        ),
        state=(ClientState.failed if error else ClientState.completed).value,
        failure=f"reported: {error}" if error else None,
    )


def _reported(document: dict[str, Any]) -> list[Figure]:
    n = fields.count(document.get("completed"), "completed") or 0
    own = [
        figure("concurrency", "mean", fields.number(document.get("concurrency")), n=n),
        figure("concurrency", "max", fields.number(document.get("max_concurrent_requests")), n=n),
    ]
    summary = bench_summary(document, latencies=_NAMES, total_tokens="total_throughput")
    return [*summary, *told(own)]
