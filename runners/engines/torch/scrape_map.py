"""The torch engine's Prometheus series by what they say. Each is there from the start, with 0."""

from collections.abc import Mapping

from runners.engines.torch.metric_names import PREFIX
from runners.protocol.series import Kind, Quantity, Series

_REQUESTS = f"{PREFIX}_requests_total"
_EVERY_ONE = "work of cancelled requests is in it"
SERIES: Mapping[Quantity, Series | None] = {
    Quantity.queue: None,  # in its event record, for each request
    Quantity.prefill: None,
    Quantity.decode: None,
    Quantity.running: Series(name=f"{PREFIX}_requests_running", kind=Kind.gauge, unit="request"),
    Quantity.waiting: Series(name=f"{PREFIX}_requests_waiting", kind=Kind.gauge, unit="request"),
    Quantity.kv_use: Series(name=f"{PREFIX}_kv_blocks_used", kind=Kind.gauge, unit="block"),
    Quantity.cache_hits: None,  # it keeps no prefix cache
    Quantity.cache_queries: None,
    Quantity.preemptions: Series(name=f"{PREFIX}_preemptions_total", kind=Kind.counter, unit="1"),
    Quantity.aborts: Series(
        name=_REQUESTS, kind=Kind.counter, unit="request", where={"outcome": "cancelled"}
    ),
    Quantity.finish_reasons: Series(
        name=_REQUESTS,
        kind=Kind.counter,
        unit="request",
        label="outcome",
        caution="its parts cancelled, failed and rejected are no finish",
    ),
    Quantity.rejections: Series(
        name=_REQUESTS, kind=Kind.counter, unit="request", where={"outcome": "rejected"}
    ),
    Quantity.prompt_tokens: Series(
        name=f"{PREFIX}_prompt_tokens_total",
        kind=Kind.counter,
        unit="token",
        caution=f"{_EVERY_ONE}, and what was computed again",
    ),
    Quantity.generation_tokens: Series(
        name=f"{PREFIX}_generation_tokens_total",
        kind=Kind.counter,
        unit="token",
        caution=_EVERY_ONE,
    ),
    Quantity.first_token: None,  # in its event record, for each request
}
