"""``vllm bench serve``: every event with a non-empty ``choices`` is a token instant, the role-only first
chunk and the empty last one too.

Tokens come from usage, else from the text re-tokenised. A stream that ended cleanly with at least one such
event is a success, an error event inside it or not. Source: vllm 0.32.0, vllm/benchmarks/serve.py
(``calculate_metrics``) and vllm/benchmarks/lib/endpoint_request_func.py.
"""

from assay.analysis.compat.figures import Figure
from assay.analysis.compat.per_request import failures, latencies, peak_concurrency, throughputs
from assay.analysis.compat.rows import Span, ToolRows


def figures(rows: ToolRows, span: Span | None = None) -> list[Figure]:
    """Means and numpy percentiles over successes, rates over the length of the benchmark."""
    good = rows.only(rows.ok)
    return [
        *latencies(good),
        *throughputs(good, span),
        peak_concurrency(good),
        failures(rows, good),
    ]
