"""What Prometheus is told of the platform: read from the index at each scrape, and the web's own latencies.

Of the web, every process of gunicorn counts for itself; where there are several they write into a folder that
whoever is scraped reads (``PROMETHEUS_MULTIPROC_DIR``).
"""

import os
import time
from collections.abc import Callable, Iterator

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from assay.archive.paths import Home
from assay.operations import state

SHARED = "PROMETHEUS_MULTIPROC_DIR"
_own = CollectorRegistry()
HTTP_SECONDS = Histogram(
    "assay_http_seconds",
    "Time to answer, by the name of the page or operation.",
    ["method", "route", "status"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.5, 5.0, 10.0),
    registry=_own,
)


class Platform(Collector):
    """Asks the index when it is asked."""

    def collect(self) -> Iterator[Metric]:
        yield from _runs()
        yield from _workers()
        yield from _room()
        yield from _sealing()


def _runs() -> Iterator[Metric]:
    runs = GaugeMetricFamily("assay_runs", "Runs by state.", labels=["state"])
    for name, count in state.runs_by_state().items():
        runs.add_metric([name], count)
    yield runs
    depth = GaugeMetricFamily("assay_queue_depth", "Runs that wait.", labels=["queue"])
    age = GaugeMetricFamily(
        "assay_queue_age_seconds", "Age of the oldest that waits.", labels=["queue"]
    )
    serving = GaugeMetricFamily(
        "assay_queue_workers", "Workers alive that serve it.", labels=["queue"]
    )
    for queue in state.queues():
        depth.add_metric([queue.name], queue.waiting)
        age.add_metric([queue.name], queue.age_s)
        serving.add_metric([queue.name], queue.workers)
    yield from (depth, age, serving)


def _workers() -> Iterator[Metric]:
    seen = state.workers()
    workers = GaugeMetricFamily(
        "assay_workers", "Registered workers, alive or silent.", labels=["state"]
    )
    workers.add_metric(["alive"], sum(w.is_alive for w in seen))
    workers.add_metric(["silent"], sum(not w.is_alive for w in seen))
    yield workers
    yield GaugeMetricFamily(
        "assay_execution_leases", "Executions that are open.", value=len(state.open_executions())
    )
    yield GaugeMetricFamily(
        "assay_device_leases", "Devices that are held.", value=len(state.open_device_leases())
    )


def _room() -> Iterator[Metric]:
    room = state.disk(Home(settings.HOME))
    yield GaugeMetricFamily(
        "assay_disk_free_bytes", "Free where the home lies.", value=room.free_bytes
    )
    yield GaugeMetricFamily("assay_disk_bytes", "Size of that file system.", value=room.total_bytes)
    if (archive := state.archive()) is not None:
        yield GaugeMetricFamily(
            "assay_archive_pending", "Bundles not known to be archived.", value=archive.pending
        )
        yield GaugeMetricFamily(
            "assay_archive_troubled", "Uploads whose last try failed.", value=archive.troubled
        )


def _sealing() -> Iterator[Metric]:
    seconds = state.sealing_seconds()
    yield SummaryMetricFamily(
        "assay_sealing_seconds",
        f"From the seal of a bundle to its acceptance; the newest {state.TAKEN_IN} of the last day.",
        count_value=len(seconds),
        sum_value=sum(seconds),
    )
    yield GaugeMetricFamily(
        "assay_sealing_seconds_max", "The longest of them.", value=max(seconds, default=0.0)
    )


def exposition() -> bytes:
    """The page that Prometheus reads."""
    registry = CollectorRegistry()
    registry.register(Platform())
    if os.environ.get(SHARED):
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
    return generate_latest(registry) + generate_latest(_own)


def time_requests(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware, the outermost: what somebody waits for. A route's name keeps ids out of the labels."""

    def respond(request: HttpRequest) -> HttpResponseBase:
        began = time.perf_counter()
        response = get_response(request)
        match = request.resolver_match
        route = (match.view_name if match else None) or "none"
        method = request.method if request.method in _METHODS else "other"
        HTTP_SECONDS.labels(method, route, f"{response.status_code // 100}xx").observe(
            time.perf_counter() - began
        )
        return response

    return respond


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
