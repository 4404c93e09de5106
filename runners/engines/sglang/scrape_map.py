"""SGLang's Prometheus series (``--enable-metrics``) by what they say.

Its own warm-up is in the counters, so only differences mean anything. A request that was dropped in the queue
is in none of the request series; one that was aborted after it had been scheduled is in most of them.
"""

from collections.abc import Mapping

from runners.protocol.series import Kind, Quantity, Series

_ABORTED_TOO = "aborted requests that had been scheduled are in it"
_FRONT_TOO = "a request whose client left while it was queued is a 400 as well"

SERIES: Mapping[Quantity, Series | None] = {
    Quantity.queue: Series(
        name="sglang:queue_time_seconds", kind=Kind.histogram, unit="s", caution=_ABORTED_TOO
    ),
    Quantity.prefill: Series(
        name="sglang:per_stage_req_latency_seconds",
        kind=Kind.histogram,
        unit="s",
        where={"stage": "prefill_forward"},
        caution=_ABORTED_TOO,
    ),
    Quantity.decode: None,  # no such series: it follows for each request from the log's own times
    Quantity.running: Series(name="sglang:num_running_reqs", kind=Kind.gauge, unit="request"),
    Quantity.waiting: Series(name="sglang:num_queue_reqs", kind=Kind.gauge, unit="request"),
    Quantity.kv_use: Series(name="sglang:token_usage", kind=Kind.gauge, unit="1"),
    Quantity.cache_hits: Series(
        name="sglang:realtime_tokens_total",
        kind=Kind.counter,
        unit="token",
        where={"mode": "prefill_cache"},
    ),
    Quantity.cache_queries: Series(
        name="sglang:realtime_tokens_total",
        kind=Kind.counter,
        unit="token",
        label="mode",
        caution="its parts prefill_cache and prefill_compute together; decode is none of it",
    ),
    # retractions; absent until the first
    Quantity.preemptions: Series(
        name="sglang:num_retracted_requests_total", kind=Kind.counter, unit="1"
    ),
    Quantity.aborts: Series(  # absent until the first
        name="sglang:num_aborted_requests_total", kind=Kind.counter, unit="request"
    ),
    Quantity.finish_reasons: None,  # no such series: the log's Finish lines name them
    Quantity.rejections: Series(
        name="sglang:http_responses_total",
        kind=Kind.counter,
        unit="request",
        label="status_code",
        caution=_FRONT_TOO,
    ),
    Quantity.prompt_tokens: Series(
        name="sglang:prompt_tokens_total", kind=Kind.counter, unit="token", caution=_ABORTED_TOO
    ),
    Quantity.generation_tokens: Series(
        name="sglang:generation_tokens_total", kind=Kind.counter, unit="token", caution=_ABORTED_TOO
    ),
    Quantity.first_token: Series(
        name="sglang:time_to_first_token_seconds",
        kind=Kind.histogram,
        unit="s",
        caution=_ABORTED_TOO,
    ),
}
