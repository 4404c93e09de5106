"""GuideLLM: a token instant is an event with generated text, and percentiles are weighted.

Its *time per output token* includes the first token and its *inter token latency* does not; both are means
weighted by tokens, so a long answer counts more. The latter stands here as ``tpot``, the former as
``tpot.with_first``. Rates count the tokens that fall into its measured window, spread evenly between a
request's first and last token; concurrency is weighted by time. Source: guidellm 0.8.1,
guidellm/schemas/base/request_stats.py, guidellm/schemas/base/statistics.py and
guidellm/benchmark/schemas/metrics.py.
"""

from collections.abc import Sequence

import numpy as np

from assay.analysis.absence import Absent
from assay.analysis.compat.figures import WEIGHTED, Figure, none_of, rate, weighted
from assay.analysis.compat.rows import Span, ToolRow, span_of, total_tokens
from assay.analysis.quantities import NS_PER_S


def figures(rows: Sequence[ToolRow], span: Span | None = None) -> list[Figure]:
    """``GenerativeMetrics.compile`` for successful requests that overlap the window."""
    found = span or span_of(rows)
    good = [r for r in rows if r.ok]
    if not isinstance(found, Absent):
        good = [r for r in good if r.stop_ns >= found.from_ns and r.start_ns <= found.to_ns]
    timed = [r for r in good if r.events]
    n = len(good)
    return [
        *weighted("ttft", [r.ttft_s for r in timed]),
        *_per_token(timed, good),
        *weighted("e2e", [r.latency_s for r in good]),
        *_rates(good, found),
        Figure(quantity="concurrency", statistic="mean", value=_concurrency(good, found), n=n),
        Figure(
            quantity="failed", statistic="count", value=sum(not r.ok for r in rows), n=len(rows)
        ),
    ]


def tokens_of(row: ToolRow) -> int | None:
    """Usage, else the number of events with text."""
    return row.output_tokens if row.output_tokens is not None else row.events or None


def _per_token(timed: Sequence[ToolRow], good: Sequence[ToolRow]) -> list[Figure]:
    without, with_first = [], []
    for row in timed:
        tokens, first, last = tokens_of(row) or 0, row.first_ns, row.last_ns
        if first is not None and last is not None and tokens > 1:
            without.append(((last - first) / NS_PER_S / (tokens - 1), tokens - 1.0))
    for row in good:
        tokens = tokens_of(row) or 0
        last = row.last_ns if row.last_ns is not None else row.stop_ns
        if tokens:
            with_first.append(((last - row.start_ns) / NS_PER_S / tokens, float(tokens)))
    return [
        *_weighted_pairs("tpot", without),
        *_weighted_pairs("tpot.with_first", with_first),
    ]


def _weighted_pairs(quantity: str, pairs: Sequence[tuple[float, float]]) -> list[Figure]:
    if not pairs:
        return none_of(quantity, Absent("no sample"), percentile_rule=WEIGHTED)
    return weighted(quantity, [v for v, _ in pairs], [w for _, w in pairs])


def _rates(good: Sequence[ToolRow], span: Span | Absent) -> list[Figure]:
    names = ("throughput.requests", "throughput.output_tokens", "throughput.total_tokens")
    if isinstance(span, Absent):
        return [rate(name, span, span, n=0) for name in names]
    ended = sum(_within(span, r.stop_ns) for r in good)
    output = sum(_output_within(r, span) for r in good)
    prompts = [r.prompt_tokens for r in good if _within(span, _prompt_time(r))]
    prompt = total_tokens(prompts, "prompt tokens")
    total = prompt if isinstance(prompt, Absent) else prompt + output
    return [
        rate(name, amount, span.length_s, n=len(good))
        for name, amount in zip(names, (ended, output, total), strict=True)
    ]


def _prompt_time(row: ToolRow) -> int:
    return row.first_ns if row.first_ns is not None else row.stop_ns


def _within(span: Span, t_ns: float) -> bool:
    return span.from_ns <= t_ns <= span.to_ns


def _output_within(row: ToolRow, span: Span) -> float:
    """One token at the first instant, the others in equal parts at evenly spaced instants up to the last."""
    tokens, events = tokens_of(row) or 0, row.events
    first, last = row.first_ns, row.last_ns
    if first is None or last is None or events <= 1:
        at = last if last is not None else row.stop_ns
        return float(tokens) * _within(span, at)
    instants = np.linspace(first, last, num=events)[1:]
    inside = np.count_nonzero((instants >= span.from_ns) & (instants <= span.to_ns))
    share = (tokens - 1) / (events - 1) if tokens > 1 else 0.0
    return bool(tokens) * float(_within(span, first)) + inside * share


def _concurrency(good: Sequence[ToolRow], span: Span | Absent) -> float | Absent:
    """Requests in flight, averaged over the window's time."""
    if isinstance(span, Absent):
        return span
    inside = sum(max(0, min(r.stop_ns, span.to_ns) - max(r.start_ns, span.from_ns)) for r in good)
    return inside / (span.to_ns - span.from_ns)
