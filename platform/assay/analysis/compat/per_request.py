"""What vLLM's, SGLang's and AIPerf's clients compute alike once each has its own rows."""

from collections.abc import Sequence

import numpy as np

from assay.analysis.absence import Absent
from assay.analysis.compat.figures import LINEAR, Figure, linear, none_of, rate
from assay.analysis.compat.rows import Span, ToolRow, span_of, total_tokens
from assay.analysis.quantities import NS_PER_S

_BUCKET_NS = NS_PER_S


def latencies(good: Sequence[ToolRow]) -> list[Figure]:
    """TTFT, (latency - TTFT) / (output tokens - 1) above one token, gaps, latency, by numpy percentiles."""
    return [
        *linear("ttft", [r.ttft_s for r in good]),
        *_per_output_token(good),
        *linear("itl", np.concatenate([r.gaps_s for r in good]) if good else []),
        *linear("e2e", [r.latency_s for r in good]),
    ]


def _per_output_token(good: Sequence[ToolRow]) -> list[Figure]:
    known = total_tokens((r.output_tokens for r in good), "output tokens")
    if isinstance(known, Absent):
        return none_of("tpot", known, percentile_rule=LINEAR)
    counted = [(r, r.output_tokens or 0) for r in good]
    return linear("tpot", [(r.latency_s - r.ttft_s) / (n - 1) for r, n in counted if n > 1])


def throughputs(good: Sequence[ToolRow], span: Span | None) -> list[Figure]:
    """Requests, output tokens and all tokens over ``span``, else over first start to last end."""
    found = span or span_of(good)
    length = found if isinstance(found, Absent) else found.length_s
    output = total_tokens((r.output_tokens for r in good), "output tokens")
    prompt = total_tokens((r.prompt_tokens for r in good), "prompt tokens")
    total = output if isinstance(output, Absent) else prompt
    if not isinstance(output, Absent) and not isinstance(prompt, Absent):
        total = output + prompt
    n = len(good)
    return [
        rate("throughput.requests", n, length, n=n),
        rate("throughput.output_tokens", output, length, n=n),
        rate("throughput.total_tokens", total, length, n=n),
    ]


def failures(rows: Sequence[ToolRow], good: Sequence[ToolRow]) -> Figure:
    failed = len(rows) - len(good)
    return Figure(quantity="failed", statistic="count", value=failed, n=len(rows))


def peak_concurrency(good: Sequence[ToolRow]) -> Figure:
    """The most successful requests that touched one and the same second, counted from the first start.

    Requests that follow each other within a second count together, so this may exceed what was in flight.
    """
    value: float | Absent = Absent("no successful request")
    if good:
        start = min(r.start_ns for r in good)
        first = np.array([(r.start_ns - start) // _BUCKET_NS for r in good])
        last = np.array([(r.stop_ns - start) // _BUCKET_NS for r in good])
        value = float(max(np.sum((first <= second) & (second <= last)) for second in set(first)))
    return Figure(quantity="concurrency", statistic="max", value=value, n=len(good))
