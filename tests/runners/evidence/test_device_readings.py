"""Devices as NVML answers: units carried over, what a device does not tell left out and never zero."""

from types import SimpleNamespace
from typing import Any

from runners.evidence import device_readings


class NVMLError(Exception):
    pass


class Library:
    """Answers in NVML's own units and shapes for two boards; the second counts no energy and has no ECC."""

    NVMLError = NVMLError
    NVML_CLOCK_SM, NVML_CLOCK_MEM = 1, 2
    NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC = 1, 0

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802 - NVML's own name
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        return index

    def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[Any]:  # noqa: N802
        return [SimpleNamespace(pid=40 + handle, usedGpuMemory=3 * 2**30)]

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: int) -> int:  # noqa: N802
        if handle:
            raise NVMLError("Not Supported")
        return 812_079_000

    def __getattr__(self, name: str) -> Any:
        answers: dict[str, Any] = {
            "nvmlDeviceGetPowerUsage": 90_600,
            "nvmlDeviceGetClockInfo": 1980,
            "nvmlDeviceGetMemoryInfo": SimpleNamespace(used=5, total=80),
            "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=97, memory=40),
            "nvmlDeviceGetCurrentClocksThrottleReasons": 4,
            "nvmlDeviceGetName": "NVIDIA H100 80GB HBM3",
            "nvmlDeviceGetUUID": "GPU-1",
            "nvmlDeviceGetEnforcedPowerLimit": 700_000,
        }

        def answer(*_: Any) -> Any:
            if name not in answers:
                raise NVMLError("Not Supported")
            return answers[name]

        return answer


def test_readings_are_in_base_units_and_bear_the_device() -> None:
    first = {row[3]: row[4] for row in device_readings.rows(Library()) if row[1] == "nvml:0"}

    # mJ, mW and percent
    assert (first["energy_j"], first["power_w"], first["busy_share"]) == (812_079.0, 90.6, 0.97)
    assert (first["memory_used_bytes"], first["sm_mhz"]) == (5.0, 1980.0)
    (held,) = [row for row in device_readings.rows(Library()) if row[2] == 40]
    assert held[3:] == ("process_memory_bytes", 3.0 * 2**30, "byte")


def test_what_a_device_does_not_tell_is_left_out() -> None:
    second = {row[3] for row in device_readings.rows(Library()) if row[1] == "nvml:1"}

    assert "energy_j" not in second
    assert "uncorrected_ecc_errors" not in second
    assert "power_w" in second


def test_facts_name_the_boards() -> None:
    first, second = device_readings.facts(Library())

    assert (first["name"], first["power_limit_w"]) == ("NVIDIA H100 80GB HBM3", 700.0)
    assert (second["index"], second["memory_bytes"]) == (1, 80)
