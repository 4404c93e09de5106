"""Results of ``vllm bench serve --save-result`` (``--save-detailed`` for the requests)."""

from typing import Any

import numpy as np

from assay.analysis.compat.figures import Figure
from assay.analysis.compat.rows import Span, ToolRow
from assay.analysis.quantities import NS_PER_S
from assay.archive.foreign import fields
from assay.archive.foreign.result import ForeignCall, ForeignResult
from assay.archive.foreign.summary import bench_summary, figure, told
from runners.protocol.events import ClientState

_LISTS = ("start_times", "ttfts", "itls", "input_lens", "output_lens", "errors")
_NAMES = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2e": "e2el"}


def recognises(document: Any) -> bool:
    return isinstance(document, dict) and {"endpoint_type", "total_token_throughput"} <= set(
        document
    )


def read(document: dict[str, Any]) -> ForeignResult:
    length = fields.duration_s(document.get("duration"), "duration")
    calls = _calls(document)
    return ForeignResult(
        tool="vllm_bench",
        version=None,  # the file does not say
        model=fields.text(document.get("model_id")),
        calls=calls,
        span=Span(from_ns=0, to_ns=max(1, round(length * NS_PER_S))),
        reported=_reported(document),
        instants_are_content=False,
        clock="time.perf_counter of the client",
    )


def _calls(document: dict[str, Any]) -> list[ForeignCall]:
    if "start_times" not in document:
        return []
    columns = {name: fields.a_list(document.get(name), name) for name in _LISTS}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) != 1:
        fields.refuse(
            "lists of requests",
            ", ".join(f"{name} {n}" for name, n in lengths.items()),
            "lists of one length",
            "Give the file as vllm wrote it with --save-detailed.",
        )
    starts = [fields.seconds(t, f"start_times[{i}]") for i, t in enumerate(columns["start_times"])]
    first = min(starts, default=0.0)
    return [
        _call(i, start - first, {name: column[i] for name, column in columns.items()})
        for i, start in enumerate(starts)
    ]


def _call(i: int, start_s: float, own: dict[str, Any]) -> ForeignCall:
    ttft = fields.duration_s(own["ttfts"], f"ttfts[{i}]")
    gaps = fields.durations_s(own["itls"], f"itls[{i}]")
    error = fields.text(own["errors"])
    # A request that failed before its first chunk holds the field's default, 0.
    came = ttft > 0
    return ForeignCall(
        call_id=f"call-{i:06}",
        row=ToolRow(
            ok=error is None and came,
            start_ns=round(start_s * NS_PER_S),
            times_ns=instants(start_s, ttft, gaps) if came else np.zeros(0, dtype=np.int64),
            prompt_tokens=fields.count(own["input_lens"], f"input_lens[{i}]"),
            output_tokens=fields.count(own["output_lens"], f"output_lens[{i}]"),
        ),
        state=(ClientState.failed if error or not came else ClientState.completed).value,
        failure=f"reported: {error or 'no chunk came'}" if error or not came else None,
    )


def instants(start_s: float, ttft_s: float, gaps_s: Any) -> Any:
    """Token instants from the start, the time to the first and the gaps after it."""
    return np.round(np.cumsum([start_s + ttft_s, *gaps_s]) * NS_PER_S).astype(np.int64)


def _reported(document: dict[str, Any]) -> list[Figure]:
    n = fields.count(document.get("completed"), "completed") or 0
    own = [
        figure("concurrency", "max", fields.number(document.get("max_concurrent_requests")), n=n),
        figure("failed", "count", fields.number(document.get("failed")), n=n),
    ]
    summary = bench_summary(document, latencies=_NAMES, total_tokens="total_token_throughput")
    return [*summary, *told(own)]
