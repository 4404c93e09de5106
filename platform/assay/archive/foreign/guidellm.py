"""Results of ``guidellm run`` with JSON output: one benchmark of the report."""

from typing import Any

import numpy as np

from assay.analysis.compat.figures import WEIGHTED, Figure
from assay.analysis.compat.rows import Span, ToolRow
from assay.analysis.quantities import NS_PER_S
from assay.archive.foreign import fields
from assay.archive.foreign.result import ForeignCall, ForeignResult
from assay.archive.foreign.summary import figure
from runners.protocol.events import ClientState

_STATES = {
    "successful": ClientState.completed,
    "errored": ClientState.failed,
    "incomplete": ClientState.unfinalised,
}
_NAMES = {  # quantity -> name, units in 1 s
    "ttft": ("time_to_first_token_ms", 1e3),
    "tpot": ("inter_token_latency_ms", 1e3),
    "tpot.with_first": ("time_per_output_token_ms", 1e3),
    "e2e": ("request_latency", 1.0),
}
_RATES = {
    "throughput.requests": "requests_per_second",
    "throughput.output_tokens": "output_tokens_per_second",
    "throughput.total_tokens": "tokens_per_second",
}


def recognises(document: Any) -> bool:
    return (
        isinstance(document, dict)
        and isinstance(document.get("metadata"), dict)
        and "guidellm_version" in document["metadata"]
    )


def benchmarks(document: dict[str, Any]) -> list[Any]:
    return fields.a_list(document.get("benchmarks"), "benchmarks")


def read(document: dict[str, Any], benchmark: Any) -> ForeignResult:
    own = fields.an_object(benchmark, "benchmark")
    start = fields.seconds(own.get("start_time"), "start_time")
    end = fields.seconds(own.get("end_time"), "end_time")
    requests = fields.an_object(own.get("requests"), "requests")
    rows = [
        (kind, fields.an_object(r, f"requests.{kind}[{i}]"), f"requests.{kind}[{i}]")
        for kind in _STATES
        for i, r in enumerate(fields.a_list(requests.get(kind) or [], f"requests.{kind}"))
    ]
    origin = min([start, *(t for _, r, w in rows if (t := _start(r, w)) is not None)])
    return ForeignResult(
        tool="guidellm",
        version=fields.text(document["metadata"].get("guidellm_version")),
        model=None,
        calls=[_call(kind, r, where, origin) for kind, r, where in rows],
        span=Span(from_ns=_ns(start, origin), to_ns=max(_ns(end, origin), _ns(start, origin) + 1)),
        reported=_reported(fields.an_object(own.get("metrics"), "metrics")),
        clock="the client's wall clock",
    )


def _ns(t_s: float, origin_s: float) -> int:
    return round((t_s - origin_s) * NS_PER_S)


def _timings(request: dict[str, Any], where: str) -> dict[str, Any]:
    info = fields.an_object(request.get("info"), f"{where}.info")
    return fields.an_object(info.get("timings"), f"{where}.info.timings")


def _start(request: dict[str, Any], where: str) -> float | None:
    value = _timings(request, where).get("request_start")
    return None if value is None else fields.seconds(value, f"{where} request_start")


def _call(kind: str, request: dict[str, Any], where: str, origin: float) -> ForeignCall:
    timings = _timings(request, where)

    def at(name: str) -> int | None:
        value = timings.get(name)
        return None if value is None else _ns(fields.seconds(value, f"{where} {name}"), origin)

    first, last, end = at("first_token_iteration"), at("last_token_iteration"), at("request_end")
    known = [t for t in (first, last) if t is not None]
    state = _STATES[kind]
    error = fields.text(request["info"].get("error"))
    return ForeignCall(
        call_id=fields.text(request.get("request_id")) or where,
        row=ToolRow(
            ok=state is ClientState.completed,
            start_ns=at("request_start") or 0,
            times_ns=np.array(known, dtype=np.int64),
            counted_events=fields.count(timings.get("token_iterations"), f"{where} iterations"),
            end_ns=end,
            prompt_tokens=fields.count(request.get("prompt_tokens"), f"{where} prompt_tokens"),
            output_tokens=_usage(request, where),
        ),
        state=state.value,
        failure=f"reported: {error or 'an error'}" if state is ClientState.failed else None,
        body_end_ns=end,
        usage_tokens=_usage(request, where),
        session_id=fields.text(request["info"].get("conversation_id")),
    )


def _usage(request: dict[str, Any], where: str) -> int | None:
    counts = request.get("output_metrics")
    if not isinstance(counts, dict):
        return None
    return fields.count(counts.get("total_tokens"), f"{where} output_metrics.total_tokens")


def _reported(metrics: dict[str, Any]) -> list[Figure]:
    found = []
    for quantity, (name, per_s) in _NAMES.items():
        own = _successful(metrics, name)
        values = {"mean": own.get("mean"), **(own.get("percentiles") or {})}
        for statistic in ("mean", "p50", "p90", "p95", "p99"):
            value = fields.number(values.get(statistic))
            scaled = None if value is None else value / per_s
            found.append(
                figure(quantity, statistic, scaled, n=_n(metrics, "successful"), rule=WEIGHTED)
            )
    for quantity, name in _RATES.items():
        rate = fields.number(_successful(metrics, name).get("mean"))
        found.append(figure(quantity, "rate", rate, n=_n(metrics, "successful")))
    busy = fields.number(_successful(metrics, "request_concurrency").get("mean"))
    found.append(figure("concurrency", "mean", busy, n=_n(metrics, "successful")))
    lost = _n(metrics, "errored") + _n(metrics, "incomplete")
    found.append(figure("failed", "count", lost, n=_n(metrics, "total")))
    return [f for f in found if f is not None]


def _successful(metrics: dict[str, Any], name: str) -> dict[str, Any]:
    entry = metrics.get(name)
    found = entry.get("successful") if isinstance(entry, dict) else None
    return found if isinstance(found, dict) else {}


def _n(metrics: dict[str, Any], kind: str) -> int:
    totals = metrics.get("request_totals")
    return fields.count(totals.get(kind), kind) or 0 if isinstance(totals, dict) else 0
