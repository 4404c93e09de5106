"""Prometheus metrics of the engine, in a registry of their own. Prefix ``assay_torch_``."""

import os
import platform
from collections.abc import Mapping
from typing import Any

import psutil
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from runners.engines.torch.metric_names import PREFIX

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
OUTCOMES = ("stop", "length", "pooled", "cancelled", "failed", "rejected")
# Seconds: a decode step of a small model takes tens of milliseconds, a long prompt chunk hundreds.
BUCKETS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1, 2, 5, 10)


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._running = self._gauge("requests_running", "Requests in the batch after the last step")
        self._waiting = self._gauge("requests_waiting", "Requests not admitted after the last step")
        self._used = self._gauge("kv_blocks_used", "KV blocks held by requests")
        self._total = self._gauge("kv_blocks_total", "KV blocks there are")
        self._kv_bytes = self._gauge("kv_allocated_bytes", "Bytes of the KV cache, used or not")
        self._rss = self._gauge("process_resident_bytes", "Resident memory", ("process",))
        self._prompt = self._counter("prompt_tokens", "Prompt tokens computed, recomputed ones too")
        self._generated = self._counter("generation_tokens", "Tokens sampled, of every request")
        self._preempted = self._counter("preemptions", "Requests put back for want of blocks")
        self._requests = self._counter("requests", "Requests by how they ended", ("outcome",))
        self._duration = Histogram(
            f"{PREFIX}_iteration_duration_seconds",
            "Duration of a step of the model loop, planning and sampling included",
            buckets=BUCKETS,
            registry=self.registry,
        )
        for outcome in OUTCOMES:  # a series that is absent until its first event reads as unknown
            self._requests.labels(outcome)
        self._front = psutil.Process(os.getpid())
        self._loop: psutil.Process | None = None

    def ready(self, info: Mapping[str, Any]) -> None:
        cache, engine = info["kv_cache"], info["engine_version"]
        self._total.set(cache["blocks"])
        self._kv_bytes.set(cache["bytes_allocated"])
        labels = {
            "version": engine["version"],
            "build": engine["build"],
            "transformers": str(engine["transformers"]),
            "python": platform.python_version(),
        }
        described = self._gauge("engine_info", "Versions; the value is always 1", tuple(labels))
        described.labels(**labels).set(1)

    def loop_process(self, pid: int) -> None:
        self._loop = psutil.Process(pid)

    def step(self, stats: Mapping[str, Any]) -> None:
        self.state(stats)
        emitted = stats["tokens_out"]
        self._generated.inc(emitted)
        self._prompt.inc(stats["prompt_tokens"])
        self._preempted.inc(stats["preempted"])
        self._duration.observe(stats["duration_ns"] / 1e9)

    def state(self, stats: Mapping[str, Any]) -> None:
        self._running.set(stats["running"])
        self._waiting.set(stats["waiting"])
        self._used.set(stats["kv_used"])

    def ended(self, outcome: str) -> None:
        self._requests.labels(outcome).inc()

    def render(self) -> bytes:
        self._read_memory("front", self._front)
        if self._loop is not None:
            self._read_memory("loop", self._loop)
        return generate_latest(self.registry)

    def _read_memory(self, name: str, process: psutil.Process) -> None:
        try:
            self._rss.labels(name).set(process.memory_info().rss)
        except psutil.Error:
            self._rss.remove(name)  # gone: no value rather than the last one

    def _gauge(self, name: str, text: str, labels: tuple[str, ...] = ()) -> Gauge:
        return Gauge(f"{PREFIX}_{name}", text, labels, registry=self.registry)

    def _counter(self, name: str, text: str, labels: tuple[str, ...] = ()) -> Counter:
        return Counter(f"{PREFIX}_{name}", text, labels, registry=self.registry)
