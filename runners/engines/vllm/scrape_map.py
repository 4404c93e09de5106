"""vLLM's Prometheus series by what they say. Gauges move only when a step runs."""

from collections.abc import Mapping

from runners.protocol.series import Kind, Quantity, Series

_FINISHED_ONLY = "aborted requests are in none of it"
_ABORTED_TOO = "work of aborted requests is in it"
SERIES: Mapping[Quantity, Series | None] = {
    Quantity.queue: Series(
        name="vllm:request_queue_time_seconds",
        kind=Kind.histogram,
        unit="s",
        caution=_FINISHED_ONLY,
    ),
    Quantity.prefill: Series(
        name="vllm:request_prefill_time_seconds",
        kind=Kind.histogram,
        unit="s",
        caution=_FINISHED_ONLY,
    ),
    Quantity.decode: Series(
        name="vllm:request_decode_time_seconds",
        kind=Kind.histogram,
        unit="s",
        caution=_FINISHED_ONLY,
    ),
    Quantity.running: Series(name="vllm:num_requests_running", kind=Kind.gauge, unit="request"),
    Quantity.waiting: Series(name="vllm:num_requests_waiting", kind=Kind.gauge, unit="request"),
    Quantity.kv_use: Series(name="vllm:kv_cache_usage_perc", kind=Kind.gauge, unit="1"),
    Quantity.cache_hits: Series(
        name="vllm:prefix_cache_hits_total", kind=Kind.counter, unit="token"
    ),
    Quantity.cache_queries: Series(
        name="vllm:prefix_cache_queries_total", kind=Kind.counter, unit="token"
    ),
    Quantity.preemptions: Series(name="vllm:num_preemptions_total", kind=Kind.counter, unit="1"),
    Quantity.aborts: Series(
        name="vllm:request_success_total",
        kind=Kind.counter,
        unit="request",
        where={"finished_reason": "abort"},
        caution="neither a disconnect nor an abort is counted under it: the log prints both",
    ),
    Quantity.finish_reasons: Series(
        name="vllm:request_success_total",
        kind=Kind.counter,
        unit="request",
        label="finished_reason",
        caution="requests that were aborted are not counted, under abort neither",
    ),
    Quantity.rejections: Series(
        name="vllm:admission_rejections_total", kind=Kind.counter, unit="request", label="reason"
    ),
    Quantity.prompt_tokens: Series(
        name="vllm:prompt_tokens_total", kind=Kind.counter, unit="token", caution=_ABORTED_TOO
    ),
    Quantity.generation_tokens: Series(
        name="vllm:generation_tokens_total", kind=Kind.counter, unit="token", caution=_ABORTED_TOO
    ),
    Quantity.first_token: Series(
        name="vllm:time_to_first_token_seconds", kind=Kind.histogram, unit="s", caution=_ABORTED_TOO
    ),
}
