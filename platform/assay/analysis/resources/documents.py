"""The resources of a run as a whole, as they are written: entries, sharing, memory by phase, host costs."""

from typing import Any, TypedDict


class ResourceEntry(TypedDict):
    """One item in three columns. Where all are null, ``reason`` says why; nothing is filled in."""

    resource: str  # accelerator | host_cpu | host_memory | storage | intra_node_link | ...
    item: str
    unit: str | None
    rated: Any
    observed: Any
    assumed: Any
    source: str | None
    reason: str | None


class PhaseMemory(TypedDict):
    """Memory in one phase by one calibre. One calibre never explains another.

    ``allocated`` is what the engine's own allocator says, ``reserved`` its pool, ``device`` what is occupied
    as seen from outside (on the CPU: resident memory of the engine's processes).
    """

    phase: str  # load | warm_up | steady
    calibre: str  # allocated | reserved | device
    samples: int
    median_bytes: float | None
    max_bytes: float | None
    evidence: str | None
    reason: str | None


class HostCost(TypedDict):
    """One cost on the host's side. ``coincides`` is a rank correlation with step times, not a verdict.

    Whether the cost mattered is decided by intervention (take the cause away and repeat), never by how busy
    the host was.
    """

    cost: str
    unit: str
    n: int
    median: float | None
    p99: float | None
    total: float | None
    coincides: dict[str, float] | None  # {"spearman", "p_value", "n"}
    evidence: str | None
    reason: str | None


class EnergyRow(TypedDict):
    """What one meter counted over the load window; a null has its reason under its name in ``reasons``."""

    meter: str  # accelerator boards | processor packages
    devices: list[str]  # telemetry subjects
    counted_by: str | None  # its own counter | power, by trapezoids
    window_s: float | None
    total_j: float | None
    idle_j: float | None  # while no attempt was in flight
    idle_share: float | None
    requests: int  # completed in the window
    output_tokens: int | None  # that arrived in the window
    per_request_j: float | None
    per_output_token_j: float | None
    reasons: dict[str, str]


class CostRow(TypedDict):
    """By the declared price, of the whole load window; null without one."""

    price: dict[str, Any] | None  # as declared: amount, currency, per, as_of, source
    currency: str | None
    total: float | None
    per_request: float | None
    per_output_token: float | None
    reasons: dict[str, str]


class ResourceReading(TypedDict):
    entries: list[ResourceEntry]
    sharing: list[ResourceEntry]  # exclusive or shared use, throttling, proxies
    memory_by_phase: list[PhaseMemory]
    host_costs: list[HostCost]
    energy: list[EnergyRow]
    cost: CostRow | None  # null: the run was read without its load window
