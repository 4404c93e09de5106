"""Entries of a run's resources: three columns, and a reason where none is known."""

from typing import Any

import pytest

from assay.analysis.resources.inventory import resource_entries, sharing_entries
from assay.analysis.resources.readings import Reading, Window

WINDOW = Window(name="steady", from_ns=100, to_ns=1000)


def fact(value: Any, *, reason: str | None = None, unit: str | None = None) -> dict[str, Any]:
    return {"value": value, "unit": unit, "source": "kernel", "reason": reason}


def host(metric: str, *values: tuple[int, float]) -> list[Reading]:
    return [
        Reading(t_ns=t_ns, subject="host", pid=None, metric=metric, value=value)
        for t_ns, value in values
    ]


def by_item(entries: list[Any]) -> dict[tuple[str, str], Any]:
    return {(entry["resource"], entry["item"]): entry for entry in entries}


@pytest.mark.req("12.02", "12.01")
def test_entries_reach_beyond_accelerators() -> None:
    facts = {
        "memory_total_bytes": fact(2**34, unit="byte"),
        "memory_available_bytes": fact(2**33, unit="byte"),
        "storage_total_bytes": fact(10**12, unit="byte"),
        "network_interfaces": fact({"eth0": 10**10}, unit="bit/s"),
        "cgroup_cpu_quota_cores": fact(2.0, unit="1"),
        "nvidia_driver": fact(None, reason="no NVIDIA driver is loaded"),
    }

    entries = resource_entries(facts)

    assert {entry["resource"] for entry in entries} == {
        "accelerator", "host_cpu", "host_memory", "storage", "intra_node_link",
        "inter_node_network", "container_quota",
    }  # fmt: skip
    found = by_item(entries)
    memory = found["host_memory", "size"]
    assert (memory["rated"], memory["observed"], memory["assumed"]) == (2**34, 2**33, None)
    assert found["container_quota", "CPU cores"]["rated"] == 2.0
    assert found["accelerator", "driver"]["reason"] == "no NVIDIA driver is loaded"


@pytest.mark.req("12.01")
def test_every_entry_has_a_value_in_a_column_or_a_reason() -> None:
    for facts in (None, {}, {"cpu_model": fact("a CPU")}):
        for entry in resource_entries(facts):
            known = any(entry[column] is not None for column in ("rated", "observed", "assumed"))
            assert known == (entry["reason"] is None), entry


def test_what_somebody_assumed_stands_in_its_own_column() -> None:
    stated = resource_entries(None)[0] | {"assumed": 8, "reason": None}

    assert resource_entries(None, [stated])[-1]["assumed"] == 8  # type: ignore[list-item]


@pytest.mark.req("12.03")
def test_sharing_throttling_and_layers_on_the_path_are_recorded() -> None:
    readings = [
        *host("available_bytes", (0, 1e9), (100, 9e9), (500, 7e9)),
        *host("cgroup_throttled_s", (100, 1.0), (500, 1.25), (900, 1.5), (1100, 9.0)),
        *host("cpu_steal_s", (100, 4.0), (900, 4.5)),
    ]

    found = by_item(
        sharing_entries(
            {
                "cgroup_cpu_quota_cores": fact(2.0),
                "proxy_variables": fact(["http_proxy"]),
                "nvidia_driver": fact("590.1"),
            },
            readings,
            window=WINDOW,
            disturbance={"others_cores_mean": 0.3},
            hops=["nginx", "gateway"],
        )
    )

    values = {item: entry["observed"] for (_, item), entry in found.items()}
    assert values["cores used by processes that are no part of the run"] == 0.3
    # of the measured phase alone: 7 GB was the least, 1.5 - 1.0 s were throttled, 0.5 s stolen
    assert values["memory is shared with every process of the host; least available"] == 7e9
    assert values["time throttled by the quota"] == 0.5
    assert values["time taken by the hypervisor for others"] == 0.5
    held = found["accelerator", "device memory: exclusive or shared"]
    assert (held["observed"], "not read" in held["reason"]) == (None, True)
    layers = found["network_path", "layers between engine and client, as declared"]
    assert layers["assumed"] == ["nginx", "gateway"]
    assert found["network_path", "proxy variables of the client"]["rated"] == ["http_proxy"]


def test_without_a_quota_nothing_can_be_throttled() -> None:
    found = by_item(
        sharing_entries(
            {"cgroup_cpu_quota_cores": fact(None, reason="no quota is set")},
            host("cgroup_throttled_s", (100, 0.0), (900, 0.0)),
            window=WINDOW,
            disturbance=None,
            hops=[],
        )
    )

    throttled = found["container_quota", "time throttled by the quota"]
    assert (throttled["observed"], throttled["reason"]) == (
        None,
        "nothing to throttle: no quota is set",
    )
