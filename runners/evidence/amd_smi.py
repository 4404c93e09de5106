"""Readings of AMD devices by ``amd-smi``: power, energy, clocks, memory, utilization, ECC, processes.

The series are NVML's. Each quantity is read at one place, in one unit, as ROCm 6.3 to 7.2 print it; ``N/A``
is not told, and what stands elsewhere or in another unit is no reading: it is named, never guessed. A command
takes tenths of a second, so it is asked at a rate of its own.
"""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from runners.evidence.device_readings import DeviceFacts
from runners.protocol.tables import TelemetryRow as Row

SUBJECT = "amdsmi:"
PROGRAM = "amd-smi"
INTERVAL_S = 1.0
DRIVER = Path("/dev/kfd")
_ASK_S = 10.0
_NOT_TOLD = "N/A"
_MIB = 2**20  # what it calls MB: it divides by 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a quantity stands; ``unit`` null: a bare number. Its value times ``factor`` is in base units."""

    path: tuple[str, ...]
    unit: str | None
    factor: float = 1.0


# metric -> unit of ours, and the places where it may stand, the newest first
_READINGS: Mapping[str, tuple[str, tuple[_Place, ...]]] = {
    "power_w": (
        "W",
        (
            _Place(path=("power", "socket_power"), unit="W"),
            _Place(path=("power", "average_socket_power"), unit="W"),
        ),
    ),
    "energy_j": ("J", (_Place(path=("energy", "total_energy_consumption"), unit="J"),)),
    "sm_mhz": ("MHz", (_Place(path=("clock", "gfx_0", "clk"), unit="MHz"),)),
    "memory_mhz": ("MHz", (_Place(path=("clock", "mem_0", "clk"), unit="MHz"),)),
    "memory_used_bytes": (
        "byte",
        (_Place(path=("mem_usage", "used_vram"), unit="MB", factor=_MIB),),
    ),
    "busy_share": ("1", (_Place(path=("usage", "gfx_activity"), unit="%", factor=0.01),)),
    "memory_busy_share": ("1", (_Place(path=("usage", "umc_activity"), unit="%", factor=0.01),)),
    "uncorrected_ecc_errors": ("1", (_Place(path=("ecc", "total_uncorrectable_count"), unit=None),)),
}  # fmt: skip
_MEMORY = _Place(path=("vram", "size"), unit="MB", factor=_MIB)
_LIMITS = (
    _Place(path=("limit", "socket_power"), unit="W"),
    _Place(path=("limit", "ppt0", "socket_power_limit"), unit="W"),
)
_HELD = {"B": 1.0, "MB": float(_MIB)}


class AnotherForm(Exception):
    """What amd-smi printed instead of what is known."""


def rows(cli: str | None = None) -> list[Row]:
    """One reading of every device; none where there is no amd-smi or its answer has another form."""
    program = cli or _program()
    if program is None:
        return []
    try:
        t_ns = time.monotonic_ns()
        found = [row for device in _asked(program, "metric") for row in _device(device, t_ns)]
        return [*found, *_processes(_asked(program, "process"), time.monotonic_ns())]
    except AnotherForm:
        return []


def facts(cli: str | None = None) -> list[DeviceFacts]:
    program = cli or _program()
    if program is None:
        return []
    try:
        return [_facts(device) for device in _asked(program, "static")]
    except AnotherForm:
        return []


def problem(cli: str | None = None, *, driver: Path = DRIVER) -> str | None:
    """Why AMD devices cannot be asked here; None if they can."""
    if not driver.exists():
        return f"no AMD driver on this machine ({driver} absent)"
    program = cli or _program()
    if program is None:
        return f"an AMD driver is loaded; there is no {PROGRAM} command on PATH"
    try:
        counts = [len(_asked(program, verb)) for verb in ("metric", "process", "static")]
    except AnotherForm as form:
        return str(form)
    return None if counts[0] else f"{PROGRAM} names no device"


def unread(cli: str | None = None) -> list[str]:
    """Quantities that some device gives neither in the known form nor as N/A."""
    program = cli or _program()
    if program is None:
        return []
    try:
        return sorted({name for device in _asked(program, "metric") for name in _strange(device)})
    except AnotherForm:
        return []


@cache
def _program() -> str | None:
    return shutil.which(PROGRAM) if DRIVER.exists() else None


def _asked(program: str, verb: str) -> Sequence[Mapping[str, Any]]:
    """One mapping for each device: a list, or since ROCm 7 a list under ``gpu_data``."""
    try:
        done = subprocess.run(
            [program, verb, "--json"],
            capture_output=True, text=True, timeout=_ASK_S, check=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        document = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise AnotherForm(f"{PROGRAM} {verb} --json gives no JSON: {error}") from error
    devices = document.get("gpu_data") if isinstance(document, dict) else document
    if not isinstance(devices, list) or not all(
        isinstance(d, dict) and isinstance(d.get("gpu"), int) for d in devices
    ):
        raise AnotherForm(f"{PROGRAM} {verb} --json is no list of devices with their number")
    return devices


def _device(device: Mapping[str, Any], t_ns: int) -> Iterator[Row]:
    for metric, (unit, places) in _READINGS.items():
        value = _first(device, places)
        # a total since the driver was loaded that is still nothing is not counted by this board
        if value is not None and not (metric == "energy_j" and value == 0):
            yield (t_ns, f"{SUBJECT}{device['gpu']}", None, metric, value, unit)


def _processes(devices: Sequence[Mapping[str, Any]], t_ns: int) -> Iterator[Row]:
    for device in devices:
        for entry in device.get("process_list") or ():
            info = entry.get("process_info") if isinstance(entry, dict) else None
            if not isinstance(info, dict):  # a word that there is none
                continue
            held = _at(info, ("memory_usage", "vram_mem"))
            value = held.get("value") if isinstance(held, dict) else None
            factor = _HELD.get(str(held.get("unit"))) if isinstance(held, dict) else None
            if isinstance(info.get("pid"), int) and isinstance(value, int | float) and factor:
                subject = f"{SUBJECT}{device['gpu']}"
                used = float(value) * factor
                yield (t_ns, subject, info["pid"], "process_memory_bytes", used, "byte")


def _facts(device: Mapping[str, Any]) -> DeviceFacts:
    name, uuid = _at(device, ("asic", "market_name")), _at(device, ("asic", "asic_serial"))
    memory = _first(device, (_MEMORY,))
    return DeviceFacts(
        index=int(device["gpu"]),
        name=name if isinstance(name, str) and name != _NOT_TOLD else None,
        uuid=uuid if isinstance(uuid, str) and uuid != _NOT_TOLD else None,
        memory_bytes=None if memory is None else int(memory),
        power_limit_w=_first(device, _LIMITS),
    )


def _strange(device: Mapping[str, Any]) -> Iterator[str]:
    """Quantities that stand at none of their places, or there in another form; N/A is a known form."""
    for metric, (_, places) in _READINGS.items():
        said = [_at(device, place.path) for place in places]
        if (
            _first(device, places) is None
            and _NOT_TOLD not in said
            and not _part_untold(device, places)
        ):
            yield metric


def _part_untold(device: Mapping[str, Any], places: Sequence[_Place]) -> bool:
    """A whole group may be N/A: ``"usage": "N/A"``."""
    return any(device.get(place.path[0]) == _NOT_TOLD for place in places)


def _first(device: Mapping[str, Any], places: Sequence[_Place]) -> float | None:
    return next((v for place in places if (v := _value(device, place)) is not None), None)


def _value(device: Mapping[str, Any], place: _Place) -> float | None:
    said = _at(device, place.path)
    if place.unit is None:
        return float(said) * place.factor if _is_number(said) else None
    if not isinstance(said, dict) or said.get("unit") != place.unit:
        return None
    return float(said["value"]) * place.factor if _is_number(said.get("value")) else None


def _at(document: Mapping[str, Any], path: Sequence[str]) -> Any:
    found: Any = document
    for key in path:
        if not isinstance(found, dict):
            return None
        found = found.get(key)
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
