"""GuideLLM: a token instant is an event with generated text, and percentiles are weighted.

Its *time per output token* includes the first token and its *inter token latency* does not; both are means
weighted by tokens, so a long answer counts more. The latter stands here as ``tpot``, the former as
``tpot.with_first``. Rates count the tokens that fall into its measured window, spread evenly between a
request's first and last token; concurrency is weighted by time. Source: guidellm 0.8.1,
guidellm/schemas/base/request_stats.py, guidellm/schemas/base/statistics.py and
guidellm/benchmark/schemas/metrics.py.
"""

import numpy as np

from assay.analysis.absence import Absent
from assay.analysis.compat.figures import Figure, rate, weighted
from assay.analysis.compat.rows import (
    UNKNOWN,
    Instants,
    Mask,
    Samples,
    Span,
    ToolRows,
    span_of,
    total_tokens,
)
from assay.analysis.quantities import NS_PER_S


def figures(rows: ToolRows, span: Span | None = None) -> list[Figure]:
    """``GenerativeMetrics.compile`` for successful requests that overlap the window."""
    found = span or span_of(rows)
    good = rows.only(rows.ok)
    if not isinstance(found, Absent):
        good = good.only((good.stop_ns >= found.from_ns) & (good.start_ns <= found.to_ns))
    timed = good.only(good.events > 0)
    failed = int(np.count_nonzero(~rows.ok))
    n = len(good)
    return [
        *weighted("ttft", timed.ttft_s),
        *_per_token(timed, good),
        *weighted("e2e", good.latency_s),
        *_rates(good, found),
        Figure(quantity="concurrency", statistic="mean", value=_concurrency(good, found), n=n),
        Figure(quantity="failed", statistic="count", value=failed, n=len(rows)),
    ]


def _tokens_of(rows: ToolRows) -> Instants:
    """Usage, else the number of events with text."""
    return np.where(rows.output_tokens == UNKNOWN, rows.events, rows.output_tokens)


def _per_token(timed: ToolRows, good: ToolRows) -> list[Figure]:
    several = timed.only(timed.timed & (_tokens_of(timed) > 1))
    intervals = _tokens_of(several) - 1
    any_token = good.only(_tokens_of(good) > 0)
    tokens = _tokens_of(any_token)
    last = np.where(any_token.timed, any_token.last_ns, any_token.stop_ns)
    return [
        *_weighted("tpot", (several.last_ns - several.first_ns) / NS_PER_S / intervals, intervals),
        *_weighted("tpot.with_first", (last - any_token.start_ns) / NS_PER_S / tokens, tokens),
    ]


def _weighted(quantity: str, values: Samples, tokens: Instants) -> list[Figure]:
    return weighted(quantity, values, tokens.astype(np.float64))


def _rates(good: ToolRows, span: Span | Absent) -> list[Figure]:
    names = ("throughput.requests", "throughput.output_tokens", "throughput.total_tokens")
    if isinstance(span, Absent):
        return [rate(name, span, span, n=0) for name in names]
    ended = int(np.count_nonzero(_within(span, good.stop_ns)))
    output = sum(_output_within(good, span))
    prompted = _within(span, np.where(good.timed, good.first_ns, good.stop_ns))
    prompt = total_tokens(good.prompt_tokens[prompted], "prompt tokens")
    total = prompt if isinstance(prompt, Absent) else prompt + output
    return [
        rate(name, amount, span.length_s, n=len(good))
        for name, amount in zip(names, (ended, output, total), strict=True)
    ]


def _within(span: Span, t_ns: Instants | Samples) -> Mask:
    return (span.from_ns <= t_ns) & (t_ns <= span.to_ns)


def _output_within(good: ToolRows, span: Span) -> list[float]:
    """One token at the first instant, the others in equal parts at evenly spaced instants up to the last."""
    tokens, events = _tokens_of(good), good.events
    spread = good.timed & (events > 1)
    at_once = np.where(good.timed, good.last_ns, good.stop_ns)
    share = np.where(tokens > 1, tokens - 1, 0) / np.where(spread, events - 1, 1)
    first = (tokens > 0) & _within(span, good.first_ns)
    inside = np.where(spread, _events_within(good, span), 0)
    found = np.where(spread, first + inside * share, tokens * 1.0 * _within(span, at_once))
    known: list[float] = found.tolist()
    return known


def _events_within(good: ToolRows, span: Span) -> Instants:
    """Evenly spaced instants beyond the first that lie in the span; all of them, where both ends do."""
    found = good.events - 1
    whole = _within(span, good.first_ns) & _within(span, good.last_ns)
    for row in np.flatnonzero(good.timed & (good.events > 1) & ~whole).tolist():
        spaced = np.linspace(good.first_ns[row], good.last_ns[row], num=good.events[row])
        found[row] = np.count_nonzero(_within(span, spaced[1:]))
    return found


def _concurrency(good: ToolRows, span: Span | Absent) -> float | Absent:
    """Requests in flight, averaged over the window's time."""
    if isinstance(span, Absent):
        return span
    ends, starts = np.minimum(good.stop_ns, span.to_ns), np.maximum(good.start_ns, span.from_ns)
    return int(np.maximum(0, ends - starts).sum()) / (span.to_ns - span.from_ns)
