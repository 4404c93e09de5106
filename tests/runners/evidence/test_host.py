"""Facts of this machine: a value or a reason, never a zero that nobody read."""

import importlib.metadata
import os
from pathlib import Path

import pytest

from runners.evidence import host, packages, telemetry
from runners.evidence.cgroup import Cgroup


def test_every_fact_has_a_column_and_a_value_or_a_reason() -> None:
    facts = host.describe()["facts"]

    assert {"cpu_model", "memory_total_bytes", "kernel", "cgroup_cpu_quota_cores"} <= facts.keys()
    for name, fact in facts.items():
        assert fact["column"] in ("rated", "observed"), name
        assert (fact["value"] is None) == (fact["reason"] is not None), name
        assert (fact["role"] == "reading") == (fact["column"] == "observed"), name


def test_an_absent_accelerator_is_a_gap_and_not_a_zero() -> None:
    described = host.describe()

    has_driver = Path("/proc/driver/nvidia/version").exists()
    assert (described["facts"]["nvidia_driver"]["value"] is not None) == has_driver
    devices = described["facts"]["nvml_devices"]
    assert has_driver or "NVML absent" in str(devices["reason"])
    unread = [gap for gap in described["gaps"] if "no accelerator readings" in gap["what"]]
    assert bool(unread) == (devices["value"] is None)


@pytest.mark.req("6.10")
def test_the_client_environment_lists_what_is_installed() -> None:
    listed = packages.of_client()

    assert listed["packages"]["pyarrow"]
    assert listed["packages"]["assay"] == importlib.metadata.version("assay")
    assert listed["sha256"] == packages.of_client()["sha256"]


def test_an_engine_that_is_no_python_has_unknown_packages() -> None:
    listed = packages.of_engine(["/usr/bin/true"], {})

    assert listed["packages"] == {}
    assert listed["sha256"] is None
    assert "no Python" in str(listed["reason"])


def test_telemetry_reads_the_host_and_this_process() -> None:
    nothing = Cgroup(version=None, cpu=None, memory=None)

    metrics = {row[3] for row in telemetry.host_rows(nothing)}
    own = {row[3]: row[4] for row in telemetry.process_rows("client", [os.getpid()])}

    assert {"cpu_user_s", "cpu_steal_s", "available_bytes", "page_faults"} <= metrics
    assert not any(name.startswith("cgroup") for name in metrics)  # not counted here, so left out
    assert own["rss_bytes"] > 2**20
    assert own["threads"] >= 1


def test_telemetry_of_a_process_that_ended_has_no_rows() -> None:
    assert telemetry.process_rows("engine", [2**22 + 1]) == []
