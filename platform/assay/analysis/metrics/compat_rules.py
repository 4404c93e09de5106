"""Rules of other tools' numbers: what *TTFT as AIPerf* means, one definition a quantity and tool.

``assay.analysis.compat`` computes them. The words say what the tool does, in the version named as source; a
later version of the tool that does otherwise is a rule of a later version here.
"""

from dataclasses import dataclass

from assay.analysis.metrics.rule import Definition

_SOCKET = "client_socket"
_OUTPUT = "throughput.output_tokens"
_TOTAL = "throughput.total_tokens"
_REQUESTS = "throughput.requests"
_UNITS = {
    "ttft": "s",
    "tpot": "s",
    "tpot.with_first": "s",
    "itl": "s",
    "e2e": "s",
    _REQUESTS: "request/s",
    _OUTPUT: "token/s",
    _TOTAL: "token/s",
    "concurrency": "request",
    "failed": "request",
}
_TITLES = {
    "ttft": "Time to first token",
    "tpot": "Time per output token",
    "tpot.with_first": "Time per output token, the first included",
    "itl": "Inter-token latency",
    "e2e": "Request latency",
    _REQUESTS: "Request throughput",
    _OUTPUT: "Output token throughput",
    _TOTAL: "Prompt and output tokens added up, a second",
    "concurrency": "Concurrency",
    "failed": "Failed requests",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tool:
    key: str
    title: str
    source: str
    population: str
    needs: str
    formulas: dict[str, str]


_TOOLS = (
    _Tool(
        key="vllm_bench",
        title="vllm bench serve",
        source="vllm 0.32.0, vllm/benchmarks/serve.py and lib/endpoint_request_func.py",
        population="requests with HTTP 200, a clean end and one event with a choice",
        needs="a recorded stream; tokens from usage, else from the text re-tokenised",
        formulas={
            "ttft": "first event with a choice (role-only too) - send",
            "tpot": "(e2e - ttft) / (N - 1), N > 1",
            "itl": "gaps between events with a choice, role-only and empty ones too",
            "e2e": "last event with a choice - send",
            _REQUESTS: "successes / duration (here first send to last such event)",
            _OUTPUT: "sum of N over successes / duration",
            _TOTAL: "(sum of prompt tokens + sum of N) / duration",
            "concurrency": "most successes that touched one second of the run",
            "failed": "requests that are no success",
        },
    ),
    _Tool(
        key="aiperf",
        title="AIPerf",
        source="aiperf 0.13.0, aiperf/metrics/types/ and metric_dicts.py",
        population="requests with a clean end, content and no error event",
        needs="a recorded stream; tokens from usage, as with --use-server-token-count",
        formulas={
            "ttft": "first response with content - send",
            "tpot": "(e2e - ttft) / (N - 1), N > 1; the tool says inter token latency",
            "itl": "gaps between responses with content; the tool says inter chunk latency",
            "e2e": "last response with content - send",
            _REQUESTS: "valid requests / length of the phase (here first send to last content)",
            _OUTPUT: "sum of N over valid requests / length of the phase",
            _TOTAL: "(sum of prompt tokens + sum of N) / length of the phase",
            "failed": "requests that are not valid",
        },
    ),
    _Tool(
        key="guidellm",
        title="GuideLLM",
        source="guidellm 0.8.1, schemas/base/request_stats.py, statistics.py, benchmark/schemas/metrics.py",
        population="successful requests that overlap the window",
        needs="a recorded stream; tokens from usage, else the number of events with text",
        formulas={
            "ttft": "first event with text - send",
            "tpot": "(last - first event with text) / (N - 1), N > 1, weighted by N - 1; "
            "the tool says inter token latency",
            "tpot.with_first": "(last event with text - send) / N, weighted by N; "
            "the tool says time per output token",
            "e2e": "end of reading - send",
            _REQUESTS: "requests that ended in the window / its length",
            _OUTPUT: "tokens in the window / its length, a request's tokens spread evenly "
            "from its first to its last event",
            _TOTAL: "output tokens in the window + prompt tokens at the first event / its length",
            "concurrency": "time-weighted mean of successes in flight over the window",
            "failed": "requests that are no success",
        },
    ),
    _Tool(
        key="sglang_bench",
        title="SGLang bench_serving",
        source="sglang 0.5.23, sglang/benchmark/serving.py",
        population="requests with HTTP 200 and a clean end, with or without text",
        needs="a recorded stream; output tokens from usage; the prompt counted without template",
        formulas={
            "ttft": "first event with text - send; 0 where none came",
            "tpot": "(e2e - ttft) / (N - 1), N > 1",
            "itl": "gaps between events with text",
            "e2e": "last line of the stream ([DONE]) - send",
            _REQUESTS: "successes / duration (here first send to last end)",
            _OUTPUT: "sum of N over successes / duration",
            _TOTAL: "(sum of prompt tokens + sum of N) / duration",
            "concurrency": "mean: sum of e2e / duration; max: most successes that touched one second",
            "failed": "requests that are no success",
        },
    ),
    _Tool(
        key="mlperf_loadgen",
        title="MLPerf LoadGen",
        source="mlcommons-loadgen 6.0, results.cc",
        population="queries of the run, as the log reports",
        needs="an imported detail log; nothing is computed again",
        formulas={
            "ttft": "first token complete - issue (in Server: - scheduled)",
            "tpot": "(completion - first token) / (tokens - 1)",
            "e2e": "completion - issue (in Server: - scheduled)",
            _REQUESTS: "completed samples / time to the last completion",
            _OUTPUT: "tokens of completed samples / time to the last completion",
        },
    ),
)


def _definition(tool: _Tool, quantity: str, formula: str) -> Definition:
    return Definition(
        id=f"{quantity}.as_{tool.key}",
        version=1,
        title=f"{_TITLES[quantity]}, as {tool.title}",
        formula=formula,
        unit=_UNITS[quantity],
        perspective="client",
        layer=_SOCKET,
        population=tool.population if quantity != "failed" else "requests sent",
        needs=tool.needs,
        source=tool.source,
    )


COMPAT_RULES: dict[str, Definition] = {
    rule.id: rule
    for tool in _TOOLS
    for quantity, formula in tool.formulas.items()
    for rule in (_definition(tool, quantity, formula),)
}
