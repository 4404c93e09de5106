"""vLLM's Prometheus series by what they say, in the vocabulary that all engines' series are read by.

Counters and histograms are read as differences over a window, never absolutely; a labelled series may be
absent until its first event, which is 0. Gauges move only when a step runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from prometheus_client.parser import text_string_to_metric_families


class Quantity(StrEnum):
    queue = "queue"
    prefill = "prefill"
    decode = "decode"
    running = "running"
    waiting = "waiting"
    kv_use = "kv_use"
    cache_hits = "cache_hits"
    cache_queries = "cache_queries"
    preemptions = "preemptions"
    aborts = "aborts"
    finish_reasons = "finish_reasons"
    rejections = "rejections"
    prompt_tokens = "prompt_tokens"
    generation_tokens = "generation_tokens"
    first_token = "first_token"


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """``name`` as it stands in the text; ``unit`` of its value. ``caution`` says what it does not count."""

    name: str
    kind: str  # histogram | gauge | counter
    unit: str
    label: str | None = None  # the label that tells its parts apart
    caution: str | None = None


_FINISHED_ONLY = "aborted requests are in none of it"
_ABORTED_TOO = "work of aborted requests is in it"
SERIES: Mapping[Quantity, Series | None] = {
    Quantity.queue: Series(
        name="vllm:request_queue_time_seconds", kind="histogram", unit="s", caution=_FINISHED_ONLY
    ),
    Quantity.prefill: Series(
        name="vllm:request_prefill_time_seconds", kind="histogram", unit="s", caution=_FINISHED_ONLY
    ),
    Quantity.decode: Series(
        name="vllm:request_decode_time_seconds", kind="histogram", unit="s", caution=_FINISHED_ONLY
    ),
    Quantity.running: Series(name="vllm:num_requests_running", kind="gauge", unit="request"),
    Quantity.waiting: Series(name="vllm:num_requests_waiting", kind="gauge", unit="request"),
    Quantity.kv_use: Series(name="vllm:kv_cache_usage_perc", kind="gauge", unit="1"),
    Quantity.cache_hits: Series(name="vllm:prefix_cache_hits_total", kind="counter", unit="token"),
    Quantity.cache_queries: Series(
        name="vllm:prefix_cache_queries_total", kind="counter", unit="token"
    ),
    Quantity.preemptions: Series(name="vllm:num_preemptions_total", kind="counter", unit="1"),
    # Its finish counter has the label "abort" and does not count disconnects under it: see the log instead.
    Quantity.aborts: None,
    Quantity.finish_reasons: Series(
        name="vllm:request_success_total",
        kind="counter",
        unit="request",
        label="finished_reason",
        caution="requests that were aborted are not counted, under abort neither",
    ),
    Quantity.rejections: Series(
        name="vllm:admission_rejections_total", kind="counter", unit="request", label="reason"
    ),
    Quantity.prompt_tokens: Series(
        name="vllm:prompt_tokens_total", kind="counter", unit="token", caution=_ABORTED_TOO
    ),
    Quantity.generation_tokens: Series(
        name="vllm:generation_tokens_total", kind="counter", unit="token", caution=_ABORTED_TOO
    ),
    Quantity.first_token: Series(
        name="vllm:time_to_first_token_seconds", kind="histogram", unit="s", caution=_ABORTED_TOO
    ),
}


def read(text: str, quantity: Quantity) -> dict[str, float]:
    """The series of a quantity in one scrape, by its own label; a histogram as its sum and its count.

    Empty where the text has no such series: of a counter's part that is 0 so far, of a gauge it is unknown.
    """
    series = SERIES[quantity]
    if series is None:
        return {}
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            part = _part(series, sample.name, sample.labels)
            if part is not None:
                found[part] = found.get(part, 0.0) + sample.value
    return found


def _part(series: Series, name: str, labels: Mapping[str, str]) -> str | None:
    if series.kind == "histogram":
        part = name.removeprefix(f"{series.name}_")
        return part if part in ("sum", "count") and name.startswith(series.name) else None
    if name != series.name:
        return None
    return labels.get(series.label, "") if series.label else "all"
