"""Boards in the measured phase: what was read, what a device does not tell, and who else held its memory."""

import pytest

from assay.analysis.resources.accelerators import accelerator_entries, others_on_devices
from assay.analysis.resources.readings import Reading, Window

WINDOW = Window(name="steady", from_ns=100, to_ns=200)


def reading(t_ns: int, metric: str, value: float, *, pid: int | None = None) -> Reading:
    return Reading(t_ns=t_ns, subject="nvml:0", pid=pid, metric=metric, value=value)


@pytest.mark.req("12.03")
def test_a_board_is_summed_up_over_the_measured_phase_alone() -> None:
    readings = [
        reading(50, "power_w", 999.0),  # loading
        *(reading(t, "power_w", w) for t, w in ((110, 100.0), (150, 300.0), (190, 320.0))),
        reading(110, "memory_used_bytes", 5.0),
        reading(150, "memory_used_bytes", 9.0),
        reading(110, "throttle_bits", 4.0),
        reading(150, "throttle_bits", 1.0),
    ]

    found = {e["item"]: e for e in accelerator_entries(None, readings, WINDOW)}

    assert found["device 0: power, median"]["observed"] == 300.0
    assert found["device 0: memory in use, most"]["observed"] == 9.0
    assert found["device 0: clock event reasons of NVML, all bits seen"]["observed"] == "0x5"
    untold = found["device 0: uncorrected ECC errors, most"]
    assert (untold["observed"], untold["reason"]) == (
        None,
        "this device or its driver does not tell it",
    )


def test_without_a_device_the_reason_is_the_hosts_own() -> None:
    facts = {"nvml_devices": {"value": None, "reason": "no NVIDIA driver on this machine"}}

    (entry,) = accelerator_entries(facts, [], WINDOW)

    assert (entry["observed"], entry["reason"]) == (None, "no NVIDIA driver on this machine")


def test_device_memory_of_others_is_what_the_engines_own_processes_do_not_hold() -> None:
    engine = Reading(t_ns=110, subject="engine", pid=7, metric="rss_bytes", value=1.0)
    readings = [
        engine,
        reading(110, "process_memory_bytes", 30.0, pid=7),
        reading(110, "process_memory_bytes", 4.0, pid=99),
        reading(150, "process_memory_bytes", 30.0, pid=7),
    ]

    found = others_on_devices(readings, WINDOW)

    assert found is not None
    assert found["observed"] == 4.0  # at 110; at 150 nobody else
    assert others_on_devices([engine], WINDOW) is None
