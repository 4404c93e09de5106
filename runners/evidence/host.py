"""Facts of the machine a run was taken on, each with its column, its source, and a reason where unknown.

Columns: ``rated`` is what the hardware or the kernel declares, ``observed`` what was read at this moment,
``assumed`` is never used here. A reading (MHz) never keys a comparison.
"""

import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

from runners.evidence import amd_smi, attached, cgroup, device_readings, energy_counters, host_gaps
from runners.protocol import clocks
from runners.protocol import host as machine
from runners.protocol.documents import Gap

# Instruction sets that decide which kernels a math library takes.
_FLAGS = (
    *("sse4_2", "avx", "f16c", "fma", "avx2", "avx_vnni"),
    *("avx512f", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16"),
    *("amx_tile", "amx_int8", "amx_bf16"),
    *("asimd", "asimddp", "sve", "sve2", "i8mm", "bf16"),
)
_CPU = Path("/sys/devices/system/cpu")


class Fact(TypedDict):
    value: Any
    unit: str | None
    column: str  # rated | observed
    role: str  # key | context | reading
    source: str
    reason: str | None  # why the value is null


class HostDocument(TypedDict):
    fingerprint: str  # runners.protocol.host: the same as a stored micro-benchmark's
    facts: dict[str, Fact]
    gaps: list[Gap]


def describe(folder: Path = Path()) -> HostDocument:
    """Read all facts now. Nothing here takes privileges; what cannot be read is null with a reason.

    ``folder`` is where the run is written: its storage is described.
    """
    info, memory = machine.cpuinfo(), machine.meminfo()
    limits = cgroup.find().limits()
    flags = set((info.get("flags") or info.get("Features") or "").split())
    facts: dict[str, Fact] = {
        "cpu_model": _rated(info.get("model name"), "/proc/cpuinfo", absent="no model name there"),
        "cpu_flags": _rated([f for f in _FLAGS if f in flags], "/proc/cpuinfo"),
        "logical_cores": _rated(os.cpu_count(), "sched_getaffinity, sysconf", unit="1"),
        "usable_cores": _rated(sorted(os.sched_getaffinity(0)), "sched_getaffinity"),
        "physical_cores": _rated(_physical_cores(), "/sys/devices/system/cpu", unit="1"),
        "numa_nodes": _rated(_numa_nodes(), "/sys/devices/system/node", unit="1"),
        "cpu_cache": _rated(info.get("cache size"), "/proc/cpuinfo", absent="not stated there"),
        "memory_total_bytes": _rated(memory.get("MemTotal"), "/proc/meminfo", unit="byte"),
        "swap_total_bytes": _rated(memory.get("SwapTotal"), "/proc/meminfo", unit="byte"),
        "kernel": _rated(f"{platform.system()} {platform.release()}", "uname"),
        "architecture": _rated(platform.machine(), "uname"),
        "libc": _rated(" ".join(platform.libc_ver()).strip() or None, "python", absent="not glibc"),
        "python": _rated(platform.python_version(), "python"),
        "transparent_hugepages": _rated(
            _read("/sys/kernel/mm/transparent_hugepage/enabled"),
            "/sys/kernel/mm",
            absent="not offered by this kernel",
        ),
        "virtualization": _rated(_virtualization(flags), "/proc/cpuinfo, /sys/class/dmi"),
        "container": _rated(_container(), "/proc/1, /.dockerenv"),
        "cgroup_version": _rated(limits.version, "/proc/self/cgroup", absent="no control group"),
        "cgroup_cpu_quota_cores": _rated(
            limits.cpu_quota_cores, str(limits.path), unit="1", absent="no quota is set"
        ),
        "cgroup_memory_limit_bytes": _rated(
            limits.memory_limit_bytes, str(limits.path), unit="byte", absent="no limit is set"
        ),
        "host_name": _context(platform.node(), "uname"),
        "boot_id": _context(clocks.boot_id(), "/proc/sys/kernel/random/boot_id"),
        "cpu_governor": _rated(
            _read(str(_CPU / "cpu0/cpufreq/scaling_governor")),
            "cpufreq",
            absent="the kernel offers no cpufreq here (usual in a virtual machine)",
        ),
        "cpu_mhz": _reading(_number(info.get("cpu MHz")), "/proc/cpuinfo", unit="MHz"),
        "memory_available_bytes": _reading(memory.get("MemAvailable"), "/proc/meminfo", "byte"),
        "load_average": _reading(list(os.getloadavg()), "/proc/loadavg"),
    }
    facts |= _attached(folder)
    driver = _read("/proc/driver/nvidia/version")
    facts["nvidia_driver"] = _rated(
        driver.splitlines()[0] if driver else None,
        "/proc/driver/nvidia/version",
        absent="no NVIDIA driver is loaded",
    )
    facts |= _meters()
    fingerprint = machine.fingerprint(machine.describe())
    gaps = host_gaps.gaps(facts, unread=amd_smi.unread())
    return HostDocument(fingerprint=fingerprint, facts=facts, gaps=gaps)


def _attached(folder: Path) -> dict[str, Fact]:
    """Context, not key: where a run is written and what else is attached changes no kernel it uses."""
    found = (
        attached.storage(folder) | attached.network() | attached.proxies() | attached.distances()
    )
    facts = {
        name: _context(fact.value, fact.source, fact.unit, fact.absent)
        for name, fact in found.items()
    }
    available = attached.storage_available_bytes(folder)
    return facts | {"storage_available_bytes": _reading(available, "statvfs", "byte")}


def _meters() -> dict[str, Fact]:
    """What can be asked of energy here."""
    lacking = energy_counters.problem()
    return {
        "nvml_devices": _context(
            device_readings.facts() or None,
            "NVML",
            absent=device_readings.problem() or "NVML names no device",
        ),
        "amd_devices": _context(
            (amd_smi.facts() or None) if (amd_lacking := amd_smi.problem()) is None else None,
            "amd-smi",
            absent=amd_lacking or "amd-smi names no device",
        ),
        "energy_counters": _context(
            None if lacking else "RAPL, by package",
            str(energy_counters.root()),
            absent=lacking or "",
        ),
    }


def _fact(column: str, role: str) -> Callable[..., Fact]:
    def make(value: Any, source: str, unit: str | None = None, absent: str = "unreadable") -> Fact:
        reason = absent if value is None else None
        return Fact(value=value, unit=unit, column=column, role=role, source=source, reason=reason)

    return make


_rated = _fact("rated", "key")
_context = _fact("rated", "context")
_reading = _fact("observed", "reading")


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _physical_cores() -> int | None:
    siblings = {
        text
        for path in _CPU.glob("cpu[0-9]*/topology/thread_siblings_list")
        if (text := _read(str(path)))
    }
    return len(siblings) or None


def _numa_nodes() -> int | None:
    return len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or None


def _virtualization(flags: set[str]) -> str:
    product = _read("/sys/class/dmi/id/product_name")
    guest = "hypervisor" in flags
    return " ".join(filter(None, ["guest" if guest else "none seen", product]))


def _container() -> str:
    """What the process environment shows of a container; "none seen" is no proof that there is none."""
    if Path("/.dockerenv").exists():
        return "docker"
    if Path("/run/.containerenv").exists():
        return "podman"
    try:
        environment = Path("/proc/1/environ").read_bytes().split(b"\0")
    except OSError:
        return "not readable"
    named = [e.partition(b"=")[2].decode() for e in environment if e.startswith(b"container=")]
    return named[0] if named else "none seen"
