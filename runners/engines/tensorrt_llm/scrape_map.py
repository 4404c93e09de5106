"""TensorRT-LLM's Prometheus series and its JSON statistics by what they say. Documented forms, never run
here.

``/prometheus/metrics`` counts requests that finished and nothing else: an abort leaves no trace in it.
Running, waiting and block counts are in the JSON of ``/metrics``, a queue that one reader empties: what is
read has to be kept.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from runners.protocol.series import Kind, Quantity, Series

_FINISHED_ONLY = "only requests that finished are in it"
SERIES: Mapping[Quantity, Series | None] = {
    Quantity.queue: Series(
        name="trtllm_request_queue_time_seconds",
        kind=Kind.histogram,
        unit="s",
        caution=_FINISHED_ONLY,
    ),
    Quantity.prefill: None,  # of later versions
    Quantity.decode: None,  # of later versions
    Quantity.running: None,  # see STATISTICS
    Quantity.waiting: None,  # see STATISTICS
    Quantity.kv_use: Series(
        name="trtllm_kv_cache_utilization",
        kind=Kind.gauge,
        unit="1",
        caution="fed when a request finishes: no time series",
    ),
    Quantity.cache_hits: None,  # see STATISTICS; the series is a rate
    Quantity.cache_queries: None,
    Quantity.preemptions: None,  # see STATISTICS
    Quantity.aborts: None,
    Quantity.finish_reasons: Series(
        name="trtllm_request_success_total",
        kind=Kind.counter,
        unit="request",
        label="finished_reason",
        caution=_FINISHED_ONLY,
    ),
    Quantity.rejections: None,
    Quantity.prompt_tokens: None,
    Quantity.generation_tokens: None,
    Quantity.first_token: Series(
        name="trtllm_time_to_first_token_seconds",
        kind=Kind.histogram,
        unit="s",
        caution=_FINISHED_ONLY,
    ),
}
# quantity -> path in one record of the JSON statistics
STATISTICS: Mapping[Quantity, str] = {
    Quantity.running: "numActiveRequests",
    Quantity.waiting: "numQueuedRequests",
    Quantity.preemptions: "inflightBatchingStats.numPausedRequests",
    Quantity.cache_hits: "kvCacheStats.reusedBlocks",
}


def statistics(text: str) -> Iterator[dict[Quantity, float]]:
    """One reading of ``/metrics``: what each iteration's record says, absent members left out.

    ``kv_use`` is used over all blocks; ``cache_queries`` are reused and missed blocks together.
    """
    for record in json.loads(text):
        found = {
            q: float(v) for q, path in STATISTICS.items() if (v := _at(record, path)) is not None
        }
        used, most = (
            _at(record, "kvCacheStats.usedNumBlocks"),
            _at(record, "kvCacheStats.maxNumBlocks"),
        )
        if used is not None and most:
            found[Quantity.kv_use] = used / most
        missed = _at(record, "kvCacheStats.missedBlocks")
        if missed is not None and Quantity.cache_hits in found:
            found[Quantity.cache_queries] = found[Quantity.cache_hits] + missed
        yield found


def _at(record: Any, path: str) -> float | None:
    for part in path.split("."):
        record = record.get(part) if isinstance(record, Mapping) else None
    return record if isinstance(record, int | float) and not isinstance(record, bool) else None
