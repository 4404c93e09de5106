"""SGLang ``bench_serving``: a token instant is an event with non-empty text, and a request's latency runs
to the last line of its stream, ``[DONE]`` included.

Output tokens are usage's, else the number that was asked for. Every HTTP 200 whose stream raised nothing is a
success, also without a single token: its TTFT is then 0. Source: sglang 0.5.23, sglang/benchmark/serving.py
(``calculate_metrics``, ``async_request_openai_chat_completions``).
"""

from assay.analysis.absence import Absent
from assay.analysis.compat.figures import Figure, rate
from assay.analysis.compat.per_request import failures, latencies, peak_concurrency, throughputs
from assay.analysis.compat.rows import Span, ToolRows, span_of


def figures(rows: ToolRows, span: Span | None = None) -> list[Figure]:
    """Means and numpy percentiles over successes, rates over the benchmark; concurrency is busy time."""
    good = rows.only(rows.ok)
    found = span or span_of(good)
    length = found if isinstance(found, Absent) else found.length_s
    busy = rate("concurrency", sum(good.latency_s.tolist()), length, n=len(good))
    return [
        *latencies(good),
        *throughputs(good, span),
        Figure(quantity="concurrency", statistic="mean", value=busy.value, n=len(good)),
        peak_concurrency(good),
        failures(rows, good),
    ]
