"""What a run had to run on, beyond the accelerator: entries in three columns, from the host's own facts.

Rated is what hardware or kernel declare, observed what was read, assumed what nobody measured and somebody
stated. An item that none of them knows is an entry with its reason, so that the ledger is complete.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from assay.analysis.resources.accelerators import accelerator_entries, others_on_devices
from assay.analysis.resources.documents import ResourceEntry
from assay.analysis.resources.readings import Reading, Window, host_growth, host_values

_NO_FACTS = "the run kept no description of its host"
_NOT_KEPT = "this run's description of its host has no such fact"
# resource, item, fact of the rated column, fact of the observed column
_ITEMS: tuple[tuple[str, str, str | None, str | None], ...] = (
    ("accelerator", "driver", "nvidia_driver", None),
    ("host_cpu", "model", "cpu_model", None),
    ("host_cpu", "logical cores", "logical_cores", None),
    ("host_cpu", "physical cores", "physical_cores", None),
    ("host_cpu", "clock", None, "cpu_mhz"),
    ("host_cpu", "NUMA nodes", "numa_nodes", None),
    ("host_memory", "size", "memory_total_bytes", "memory_available_bytes"),
    ("host_memory", "swap", "swap_total_bytes", None),
    ("storage", "file system of the run", "storage_file_system", None),
    ("storage", "size", "storage_total_bytes", "storage_available_bytes"),
    ("intra_node_link", "relative memory distances between nodes", "numa_distances", None),
    ("inter_node_network", "interfaces and their stated speed", "network_interfaces", None),
    ("container_quota", "CPU cores", "cgroup_cpu_quota_cores", None),
    ("container_quota", "memory", "cgroup_memory_limit_bytes", None),
)
_UNMEASURED: tuple[tuple[str, str, str], ...] = (
    ("storage", "sustained bandwidth", "not measured: a run moves no data to find out"),
    (
        "intra_node_link",
        "sustained bandwidth",
        "not measured: one host, no device-to-device traffic",
    ),
    ("inter_node_network", "sustained bandwidth", "not measured: client and engine share one host"),
)


def resource_entries(
    facts: Mapping[str, Mapping[str, Any]] | None,
    assumed: Sequence[ResourceEntry] = (),
    *,
    readings: Sequence[Reading] = (),
    window: Window | None = None,
) -> list[ResourceEntry]:
    """Every class of resource, what is known of it and what is not; ``assumed`` entries come last."""
    found = [
        _entry(resource, item, _fact(facts, rated), _fact(facts, observed))
        for resource, item, rated, observed in _ITEMS
    ]
    found += [_unknown(resource, item, reason) for resource, item, reason in _UNMEASURED]
    found += accelerator_entries(facts, readings, window)
    return [*found, *assumed]


def sharing_entries(
    facts: Mapping[str, Mapping[str, Any]] | None,
    readings: Sequence[Reading],
    *,
    window: Window | None,
    disturbance: Mapping[str, Any] | None,
    hops: Sequence[str],
) -> list[ResourceEntry]:
    """Who else used the same resources: cores, memory, quota throttling, proxies on the path."""
    return [
        _cores_of_others(disturbance),
        _device_memory(readings, window),
        others_on_devices(readings, window) or _accelerator_memory(facts),
        _throttling(facts, readings, window),
        _steal(readings, window),
        _declared_hops(hops),
        _entry(
            "network_path", "proxy variables of the client", _fact(facts, "proxy_variables"), None
        ),
    ]


def _cores_of_others(disturbance: Mapping[str, Any] | None) -> ResourceEntry:
    item = "cores used by processes that are no part of the run"
    value = (disturbance or {}).get("others_cores_mean")
    if value is None:
        reason = (disturbance or {}).get("reason") or "the run's telemetry was not evaluated"
        return _unknown("host_cpu", item, str(reason))
    return _observed("host_cpu", item, value, unit="1", source="telemetry, measured phase")


def _device_memory(readings: Sequence[Reading], window: Window | None) -> ResourceEntry:
    """On the CPU the engine's memory is the host's, which everybody shares: the least that was left."""
    item = "memory is shared with every process of the host; least available"
    values = host_values(readings, "available_bytes", window) if window else []
    if not values:
        return _unknown("host_memory", item, "no readings of the measured phase")
    least = min(value for _, value in values)
    return _observed("host_memory", item, least, unit="byte", source="telemetry, measured phase")


def _accelerator_memory(facts: Mapping[str, Mapping[str, Any]] | None) -> ResourceEntry:
    item = "device memory: exclusive or shared"
    driver = _fact(facts, "nvidia_driver")
    if driver is not None and driver.get("value") is None and driver.get("reason"):
        return _unknown("accelerator", item, str(driver["reason"]))
    return _unknown("accelerator", item, "which processes hold memory of a device was not read")


def _throttling(
    facts: Mapping[str, Mapping[str, Any]] | None,
    readings: Sequence[Reading],
    window: Window | None,
) -> ResourceEntry:
    item = "time throttled by the quota"
    quota = _fact(facts, "cgroup_cpu_quota_cores")
    if quota is not None and quota.get("value") is None and quota.get("reason"):
        return _unknown("container_quota", item, f"nothing to throttle: {quota['reason']}")
    grown = host_growth(readings, "cgroup_throttled_s", window) if window else []
    if not grown:
        return _unknown("container_quota", item, "the kernel counts no throttling here")
    total = sum(growth.amount for growth in grown)
    return _observed("container_quota", item, total, unit="s", source="cpu.stat, measured phase")


def _steal(readings: Sequence[Reading], window: Window | None) -> ResourceEntry:
    item = "time taken by the hypervisor for others"
    grown = host_growth(readings, "cpu_steal_s", window) if window else []
    if not grown:
        return _unknown("host_cpu", item, "no two readings of the measured phase")
    total = sum(growth.amount for growth in grown)
    return _observed("host_cpu", item, total, unit="s", source="/proc/stat, measured phase")


def _declared_hops(hops: Sequence[str]) -> ResourceEntry:
    """Layers on the way of a reply as the run declared them; an empty list is a declaration too."""
    return ResourceEntry(
        resource="network_path", item="layers between engine and client, as declared", unit=None,
        rated=None, observed=None, assumed=list(hops), source="spec.json", reason=None,
    )  # fmt: skip


def _entry(
    resource: str,
    item: str,
    rated: Mapping[str, Any] | None,
    observed: Mapping[str, Any] | None,
) -> ResourceEntry:
    known = [fact for fact in (rated, observed) if fact is not None]
    values = [fact.get("value") for fact in known]
    reasons = [str(fact["reason"]) for fact in known if fact.get("reason")]
    return ResourceEntry(
        resource=resource,
        item=item,
        unit=next((fact.get("unit") for fact in known if fact.get("unit")), None),
        rated=None if rated is None else rated.get("value"),
        observed=None if observed is None else observed.get("value"),
        assumed=None,
        source="; ".join(sorted({str(fact["source"]) for fact in known if fact.get("source")}))
        or None,
        reason="; ".join(dict.fromkeys(reasons)) or None
        if all(v is None for v in values)
        else None,
    )


def _fact(
    facts: Mapping[str, Mapping[str, Any]] | None, name: str | None
) -> Mapping[str, Any] | None:
    if name is None:
        return None
    if facts is None:
        return {"value": None, "reason": _NO_FACTS}
    return facts.get(name) or {"value": None, "reason": _NOT_KEPT}


def _observed(resource: str, item: str, value: float, *, unit: str, source: str) -> ResourceEntry:
    return ResourceEntry(
        resource=resource, item=item, unit=unit, rated=None, observed=value, assumed=None,
        source=source, reason=None,
    )  # fmt: skip


def _unknown(resource: str, item: str, reason: str) -> ResourceEntry:
    return ResourceEntry(
        resource=resource, item=item, unit=None, rated=None, observed=None, assumed=None,
        source=None, reason=reason,
    )  # fmt: skip
