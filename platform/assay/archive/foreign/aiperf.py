"""Results of AIPerf: ``profile_export.jsonl``, a record a request, and ``profile_export_aiperf.json``."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import numpy as np

from assay.analysis.compat.figures import LINEAR, Figure
from assay.analysis.compat.rows import Span, ToolRow
from assay.analysis.quantities import NS_PER_S
from assay.archive.foreign import fields
from assay.archive.foreign.result import ForeignCall, ForeignResult
from assay.archive.foreign.summary import figure, in_ms
from runners.protocol.events import ClientState

SUMMARY = "profile_export_aiperf.json"
_NS_PER_MS = 1_000_000
_NAMES = {
    "ttft": "time_to_first_token",
    "tpot": "inter_token_latency",
    "itl": "inter_chunk_latency",
    "e2e": "request_latency",
}
_RATES = {
    "throughput.requests": "request_throughput",
    "throughput.output_tokens": "output_token_throughput",
    "throughput.total_tokens": "total_token_throughput",
}
_STATISTICS = {"mean": "avg", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99"}
_MEASURED = "profiling"


def recognises(document: Any) -> bool:
    """A record of the export."""
    return isinstance(document, dict) and {"metadata", "metrics"} <= set(document)


def recognises_summary(document: Any) -> bool:
    return isinstance(document, dict) and "aiperf_version" in document


def read_records(
    records: Iterable[tuple[int, dict[str, Any]]], summary: dict[str, Any] | None
) -> ForeignResult:
    """The records of the measured phase; the summary, where it lies beside them, adds version and length."""
    measured = [(line, r) for line, r in records if _phase(r, line) == _MEASURED]
    if len(measured) > fields.MOST_CALLS:
        fields.refuse(
            "records", str(len(measured)), f"at most {fields.MOST_CALLS}", "Import a shorter run."
        )
    starts = [_ns(r, "request_start_ns", line) for line, r in measured]
    first = min(starts, default=0)
    calls = [
        _call(record, line, start - first, first)
        for (line, record), start in zip(measured, starts, strict=True)
    ]
    return _result(calls, summary or {})


def read_summary(summary: dict[str, Any]) -> ForeignResult:
    """The summary alone: figures as reported, no request."""
    return _result([], summary)


def _result(calls: list[ForeignCall], summary: dict[str, Any]) -> ForeignResult:
    return ForeignResult(
        tool="aiperf",
        version=fields.text(summary.get("aiperf_version")),
        model=_model(summary),
        calls=calls,
        span=_phase_span(summary),
        reported=_reported(summary),
        clock="the client's wall clock at each start, its monotonic clock from there",
    )


def _phase(record: dict[str, Any], line: int) -> str:
    metadata = fields.an_object(record.get("metadata"), f"line {line} metadata")
    return str(metadata.get("benchmark_phase"))


def _ns(record: dict[str, Any], name: str, line: int) -> int:
    value = fields.an_object(record.get("metadata"), f"line {line} metadata").get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        fields.refuse(
            f"line {line} metadata.{name}", repr(value)[:60], "a time in ns", "Give it as written."
        )
    return value


def _call(record: dict[str, Any], line: int, start_ns: int, origin_ns: int) -> ForeignCall:
    metrics = fields.an_object(record.get("metrics"), f"line {line} metrics")
    metadata = record["metadata"]
    error = record.get("error")
    cancelled = metadata.get("was_cancelled") is True
    failure = _failure(error) if error else None
    latency = _ms(metrics, "request_latency", line)
    return ForeignCall(
        call_id=fields.text(metadata.get("x_request_id")) or f"line-{line}",
        row=ToolRow(
            ok=failure is None and not cancelled,
            start_ns=start_ns,
            times_ns=_instants(metrics, line, start_ns),
            end_ns=None if latency is None else start_ns + round(latency * _NS_PER_MS),
            prompt_tokens=_count(metrics, "input_sequence_length", line),
            output_tokens=_count(metrics, "output_sequence_length", line),
        ),
        state=(
            ClientState.cancelled
            if cancelled
            else ClientState.completed
            if failure is None
            else ClientState.failed
        ).value,
        failure=None if cancelled else failure,
        body_end_ns=max(start_ns, _ns(record, "request_end_ns", line) - origin_ns),
        usage_tokens=_count(metrics, "usage_completion_tokens", line),
        session_id=fields.text(metadata.get("conversation_id")),
    )


def _instants(metrics: dict[str, Any], line: int, start_ns: int) -> Any:
    ttft = _ms(metrics, "time_to_first_token", line)
    if ttft is None:
        return np.zeros(0, dtype=np.int64)
    entry = metrics.get("inter_chunk_latency") or {}
    gaps = fields.durations_s(
        fields.an_object(entry, f"line {line} inter_chunk_latency").get("value") or [],
        f"line {line} inter_chunk_latency",
    )
    return start_ns + np.round(np.cumsum([ttft, *gaps]) * _NS_PER_MS).astype(np.int64)


def _ms(metrics: dict[str, Any], name: str, line: int) -> float | None:
    entry = metrics.get(name)
    if entry is None:
        return None
    where = f"line {line} {name}"
    return fields.duration_s(fields.an_object(entry, where).get("value"), where)


def _count(metrics: dict[str, Any], name: str, line: int) -> int | None:
    entry = metrics.get(name)
    where = f"line {line} {name}"
    return (
        None if entry is None else fields.count(fields.an_object(entry, where).get("value"), where)
    )


def _failure(error: Any) -> str:
    if not isinstance(error, dict):
        return f"reported: {fields.text(str(error)) or 'an error'}"
    code = error.get("code")
    words = fields.text(error.get("message")) or fields.text(error.get("type")) or "an error"
    if isinstance(code, int) and 400 <= code < 600:
        return f"http_{code}: {words}"
    return f"reported: {words}"


def _model(summary: dict[str, Any]) -> str | None:
    try:
        return fields.text(summary["input_config"]["models"]["items"][0]["name"])
    except (KeyError, IndexError, TypeError):
        return None


def _phase_span(summary: dict[str, Any]) -> Span | None:
    """From the phase's start to its end: what the tool divides by. Only the length is used."""
    try:
        start, end = (datetime.fromisoformat(str(summary[k])) for k in ("start_time", "end_time"))
        length = (end - start).total_seconds()
    except (KeyError, ValueError, TypeError):
        return None
    return Span(from_ns=0, to_ns=round(length * NS_PER_S)) if length > 0 else None


def _reported(summary: dict[str, Any]) -> list[Figure]:
    n = round(_value(summary, "request_count", "avg") or 0)
    found = [
        figure(quantity, statistic, in_ms(_value(summary, name, key)), n=n, rule=LINEAR)
        for quantity, name in _NAMES.items()
        for statistic, key in _STATISTICS.items()
    ]
    found += [figure(q, "rate", _value(summary, name, "avg"), n=n) for q, name in _RATES.items()]
    if n:
        failed = _value(summary, "error_request_count", "avg") or 0.0
        found.append(figure("failed", "count", failed, n=n))
    return [f for f in found if f is not None]


def _value(summary: dict[str, Any], name: str, statistic: str) -> float | None:
    entry = summary.get(name)
    return fields.number(entry.get(statistic)) if isinstance(entry, dict) else None
