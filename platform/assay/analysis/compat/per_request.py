"""What vLLM's, SGLang's and AIPerf's clients compute alike once each has its own rows."""

import numpy as np

from assay.analysis.absence import Absent
from assay.analysis.compat.figures import LINEAR, Figure, linear, linear_of_many, none_of, rate
from assay.analysis.compat.rows import Span, ToolRows, span_of, total_tokens
from assay.analysis.quantities import NS_PER_S

_BUCKET_NS = NS_PER_S


def latencies(good: ToolRows) -> list[Figure]:
    """TTFT, (latency - TTFT) / (output tokens - 1) above one token, gaps, latency, by numpy percentiles."""
    return [
        *linear("ttft", good.ttft_s),
        *_per_output_token(good),
        *linear_of_many("itl", good.gaps_s(), good.shelf),
        *linear("e2e", good.latency_s),
    ]


def _per_output_token(good: ToolRows) -> list[Figure]:
    known = total_tokens(good.output_tokens, "output tokens")
    if isinstance(known, Absent):
        return none_of("tpot", known, percentile_rule=LINEAR)
    several = good.only(good.output_tokens > 1)
    spread = (several.latency_s - several.ttft_s) / (several.output_tokens - 1)
    return linear("tpot", spread)


def throughputs(good: ToolRows, span: Span | None) -> list[Figure]:
    """Requests, output tokens and all tokens over ``span``, else over first start to last end."""
    found = span or span_of(good)
    length = found if isinstance(found, Absent) else found.length_s
    output = total_tokens(good.output_tokens, "output tokens")
    prompt = total_tokens(good.prompt_tokens, "prompt tokens")
    total = output if isinstance(output, Absent) else prompt
    if not isinstance(output, Absent) and not isinstance(prompt, Absent):
        total = output + prompt
    n = len(good)
    return [
        rate("throughput.requests", n, length, n=n),
        rate("throughput.output_tokens", output, length, n=n),
        rate("throughput.total_tokens", total, length, n=n),
    ]


def failures(rows: ToolRows, good: ToolRows) -> Figure:
    failed = len(rows) - len(good)
    return Figure(quantity="failed", statistic="count", value=failed, n=len(rows))


def peak_concurrency(good: ToolRows) -> Figure:
    """The most successful requests that touched one and the same second, counted from the first start.

    Requests that follow each other within a second count together, so this may exceed what was in flight.
    """
    value: float | Absent = Absent("no successful request")
    if len(good):
        start = good.start_ns.min()
        first = np.sort((good.start_ns - start) // _BUCKET_NS)
        last = np.sort((good.stop_ns - start) // _BUCKET_NS)
        seconds = np.unique(first)
        begun = np.searchsorted(first, seconds, side="right")
        over = np.searchsorted(last, seconds, side="left")
        value = float((begun - over).max())
    return Figure(quantity="concurrency", statistic="max", value=value, n=len(good))
