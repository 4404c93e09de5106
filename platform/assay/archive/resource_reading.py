"""From a bundle's host description, telemetry and session log to what is said of its resources."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.analysis.events import EventRecord, Fact
from assay.analysis.observed import ObservedStep
from assay.analysis.resources import accelerators
from assay.analysis.resources.documents import ResourceReading
from assay.analysis.resources.host_costs import RequestCosts, host_costs
from assay.analysis.resources.inventory import resource_entries, sharing_entries
from assay.analysis.resources.phase_memory import memory_by_phase
from assay.analysis.resources.readings import Window
from assay.archive.readers import Bundle, SessionRow
from assay.archive.telemetry_reading import readings_of
from runners.protocol import layout
from runners.protocol.events import Phase, SessionEvent

LOAD, WARM_UP, STEADY = "load", "warm_up", "steady"
PHASES = (LOAD, WARM_UP, STEADY)
_METRICS = (
    "rss_bytes",
    "page_faults",
    "major_faults",
    "cgroup_throttled_s",
    "cpu_steal_s",
    "available_bytes",
    *accelerators.METRICS,
)


@dataclass(slots=True, kw_only=True)
class Allocations:
    """What the engine said it had allocated for KV, by time; events of another clock domain are left out."""

    clock_domain: str
    seen: list[tuple[int, int]] = field(default_factory=list)

    def take(self, event: EventRecord) -> None:
        if event.fact is not Fact.memory or event.clock_domain != self.clock_domain:
            return
        size = event.value.get("kv_bytes_allocated") if isinstance(event.value, dict) else None
        if isinstance(size, int):
            self.seen.append((event.t_ns, size))


def resource_reading(
    source: Bundle,
    session: Sequence[SessionRow],
    *,
    allocations: Allocations,
    requests: RequestCosts,
    steps: Sequence[ObservedStep],
) -> ResourceReading:
    """Entries, sharing, memory by phase and host costs of one run."""
    windows = phase_windows(session)
    measured = steady(session)
    facts = (source.document(layout.HOST) or {}).get("facts")
    readings = readings_of(source, _METRICS)
    client_error = (source.document(layout.CLOCKS) or {}).get("client_error") or {}
    return ResourceReading(
        entries=resource_entries(facts, readings=readings, window=measured),
        sharing=sharing_entries(
            facts,
            readings,
            window=measured,
            disturbance=client_error.get("disturbance"),
            hops=_hops(source),
        ),
        memory_by_phase=memory_by_phase(readings, allocations.seen, windows, phases=PHASES),
        host_costs=host_costs(requests, steps, readings, facts, measured),
        energy=[],  # over the load window, which is not known yet
        cost=None,
    )


def steady(session: Sequence[SessionRow]) -> Window | None:
    """The measured phase with its drain; None if it was not reached."""
    return next((window for window in phase_windows(session) if window.name == STEADY), None)


def phase_windows(session: Sequence[SessionRow]) -> list[Window]:
    """Loading (launch to ready), warm-up, the measured phase with its drain; only phases that were reached.

    A log that was cut ends a phase at its last row.
    """
    if not session:
        return []
    last_ns = session[-1].t_ns
    spans = (
        (LOAD, _time(session, SessionEvent.launch), _time(session, SessionEvent.ready)),
        (WARM_UP, *_phase(session, Phase.warmup, Phase.warmup)),
        (STEADY, *_phase(session, Phase.measure, Phase.drain)),
    )
    return [
        Window(name=name, from_ns=start, to_ns=last_ns if end is None else end)
        for name, start, end in spans
        if start is not None
    ]


def _phase(
    session: Sequence[SessionRow], first: Phase, last: Phase
) -> tuple[int | None, int | None]:
    return (
        _time(session, SessionEvent.phase_start, phase=first),
        _time(session, SessionEvent.phase_end, phase=last),
    )


def _time(session: Sequence[SessionRow], event: str, **fields: str) -> int | None:
    for row in session:
        if row.event == event and all(row.fields.get(k) == v for k, v in fields.items()):
            return row.t_ns
    return None


def _hops(source: Bundle) -> list[str]:
    boundary: dict[str, Any] = (source.document(layout.SPEC) or {}).get("boundary") or {}
    return [str(hop.get("name")) for hop in boundary.get("hops") or ()]
