"""One report from those of several client processes. Each field has its rule; none is averaged away.

Quantiles of lags cannot be joined from quantiles: the merged summary holds the largest of each, so that it
never claims less error than one of the processes had.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from runners.load.lags import LagSummary
from runners.load.limits import StopReason
from runners.load.pace import StageSpan
from runners.load.report import DriveReport

Rule = Callable[[Sequence[Any]], Any]
_LARGEST = "the largest of the processes' own nearest ranks"


def merged(reports: Sequence[DriveReport], *, workers: Sequence[int]) -> DriveReport:
    """As if one client had driven them all; each process's own error stays beside it, by worker."""
    found = {
        f.name: RULES[f.name]([getattr(r, f.name) for r in reports])
        for f in fields(DriveReport)
        if f.name in RULES
    }
    limits = tuple(
        f"process {worker}: {sentence}"
        for worker, report in zip(workers, reports, strict=True)
        for sentence in report.client_limits
    )
    own = tuple(
        {"worker": worker, **report.client_error}
        for worker, report in zip(workers, reports, strict=True)
    )
    return DriveReport(**found, client_limits=limits, workers=own)


def _first(values: Sequence[Any]) -> Any:
    return values[0]


def _earliest(values: Sequence[int | None]) -> int | None:
    return min((v for v in values if v is not None), default=None)


def _latest(values: Sequence[int | None]) -> int | None:
    return max((v for v in values if v is not None), default=None)


def _counts(values: Sequence[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for value in values:
        total.update(value)
    return dict(sorted(total.items()))


def _gravest(values: Sequence[StopReason]) -> StopReason:
    """The plan is done only if it is done everywhere; a full disk or a request to stop outweighs the rest."""
    rank = [StopReason.plan_done, StopReason.drain_expired]
    last = [StopReason.stop_requested, StopReason.capture_ended]
    order = [*rank, *(r for r in StopReason if r not in rank and r not in last), *last]
    return max(values, key=order.index)


def _said(values: Sequence[str | None]) -> str | None:
    return "; ".join(dict.fromkeys(v for v in values if v is not None)) or None


def _spans(values: Sequence[tuple[StageSpan, ...]]) -> tuple[StageSpan, ...]:
    """Stages begin at the same times in every process; one that has nothing left to send enters no more."""
    return tuple(
        _span([spans[n] for spans in values if n < len(spans)])
        for n in range(max(map(len, values)))
    )


def _span(parts: Sequence[StageSpan]) -> StageSpan:
    shares = [part.concurrency for part in parts if part.concurrency is not None]
    return StageSpan(
        from_ns=min(part.from_ns for part in parts),
        to_ns=max(part.to_ns for part in parts),
        concurrency=sum(shares) if shares else None,
    )


def _lags(values: Sequence[LagSummary | None]) -> LagSummary | None:
    seen = [v for v in values if v is not None]
    if not seen:
        return None
    n = sum(v["n"] for v in seen)
    weighted = [v["mean_ns"] * v["n"] for v in seen if v["mean_ns"] is not None]
    return LagSummary(
        what=seen[0]["what"],
        n=n,
        mean_ns=sum(weighted) / n if n else None,
        p50_ns=_latest([v["p50_ns"] for v in seen]),
        p90_ns=_latest([v["p90_ns"] for v in seen]),
        p99_ns=_latest([v["p99_ns"] for v in seen]),
        p999_ns=_latest([v["p999_ns"] for v in seen]),
        max_ns=_latest([v["max_ns"] for v in seen]),
        rule=_LARGEST,
        reason=None if n else seen[0]["reason"],
    )


RULES: Mapping[str, Rule] = {
    "segment": _first,
    "offered": sum,
    "created": sum,
    "not_created": sum,
    "attempts": sum,
    "ends": _counts,
    "unfinalised": sum,
    "stop_reason": _gravest,
    "stop_seen": _said,
    "stages": _spans,
    "origin_ns": min,
    "first_sent_ns": _earliest,
    "last_sent_ns": _latest,
    "drain_start_ns": _earliest,
    "ended_ns": max,
    "client_limited": any,
    "loop_lag": _lags,
    "send_lag": _lags,
    "regenerations": sum,
    "not_created_why": _counts,
    "assembly": _lags,
    "times_error_ns": max,
}
