"""AIPerf: a token instant is a response with content (answer, reasoning or tool call), and latency ends at
the last of them, not at the end of the stream.

What AIPerf calls *inter token latency* is a mean per request and stands here as ``tpot``; its *inter chunk
latency* is ``itl``. Output tokens are its own tokenizer's count of the text, or usage with
``--use-server-token-count``. A request without content, or with an error, is an error. Source: aiperf 0.13.0,
aiperf/metrics/types/ and aiperf/metrics/metric_dicts.py (``metric_result_from_array``).
"""

from assay.analysis.compat.figures import Figure
from assay.analysis.compat.per_request import failures, latencies, throughputs
from assay.analysis.compat.rows import Span, ToolRows


def figures(rows: ToolRows, span: Span | None = None) -> list[Figure]:
    """Statistics of valid records, linear between ranks; rates from the first request to the last content."""
    good = rows.only(rows.ok & (rows.events > 0))
    return [*latencies(good), *throughputs(good, span), failures(rows, good)]
