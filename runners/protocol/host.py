"""What this machine is, as far as its performance goes, and a short fingerprint of it.

Both sides need it: the runner stores it with a micro-benchmark, the platform finds the benchmarks of this
host by it. Readings (load, clock rates) are no part of the fingerprint; nor is the host name, which a
container changes at every start.
"""

import hashlib
import os
import platform
from pathlib import Path
from typing import Any, TypedDict

from runners.protocol.manifest import canonical

DISTURBED_CORES = 0.2  # used by others: beyond it, what is measured here counts as disturbed
_CPUINFO = Path("/proc/cpuinfo")
_MEMINFO = Path("/proc/meminfo")
_STAT = Path("/proc/stat")
_CACHE = Path("/sys/devices/system/cpu/cpu0/cache")
_CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")


class CacheLevel(TypedDict):
    """One data cache as the kernel reports it; ``instances`` is how many the host's cores have of it."""

    level: int
    bytes: int
    instances: int


class HostDescription(TypedDict):
    """Facts that bound what the host can do. Unknown is null."""

    machine: str
    cpu_model: str | None
    cpu_identity: (
        str | None
    )  # family/model/stepping: the model name of a virtual CPU is often generic
    logical_cpus: int
    cpu_quota: str | None  # the container's quota and period in µs, "max 100000" when unlimited
    memory_bytes: int | None
    caches: list[CacheLevel]
    instruction_sets: list[str]


_SETS = ("avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_bf16", "amx_int8", "sve", "asimd")


def describe() -> HostDescription:
    """Read the host's description from the kernel. Costs a few file reads, starts nothing."""
    fields = cpuinfo()
    flags = set((fields.get("flags") or fields.get("Features") or "").split())
    identity = [fields.get(name) for name in ("cpu family", "model", "stepping")]
    return HostDescription(
        machine=platform.machine(),
        cpu_model=fields.get("model name"),
        cpu_identity="/".join(str(part) for part in identity) if all(identity) else None,
        logical_cpus=os.cpu_count() or 1,
        cpu_quota=_text(_CGROUP_QUOTA),
        memory_bytes=meminfo().get("MemTotal"),
        caches=_caches(),
        instruction_sets=[name for name in _SETS if name in flags],
    )


def fingerprint(description: HostDescription) -> str:
    """Sixteen hex digits over the description; memory counts in GiB, since kernels hold back some of it."""
    memory = description["memory_bytes"]
    keyed: dict[str, Any] = dict(description)
    keyed["memory_bytes"] = None if memory is None else round(memory / 2**30)
    return hashlib.sha256(canonical(keyed)).hexdigest()[:16]


def cpu_busy_s() -> float | None:
    """CPU time that the whole host has spent since its start, steal included; None if not counted."""
    line = (_text(_STAT) or "").split("\n", 1)[0].split()
    if len(line) < 9 or line[0] != "cpu":
        return None
    user, nice, system, _idle, _iowait, irq, softirq, steal = (int(n) for n in line[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def cpuinfo() -> dict[str, str]:
    """The first processor's block of /proc/cpuinfo; empty where there is none."""
    block = (_text(_CPUINFO) or "").split("\n\n", 1)[0]
    pairs = (line.partition(":") for line in block.splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def meminfo() -> dict[str, int]:
    """The sizes of /proc/meminfo in bytes; empty where there is none."""
    rows = (line.split() for line in (_text(_MEMINFO) or "").splitlines())
    return {r[0].rstrip(":"): int(r[1]) * 1024 for r in rows if len(r) == 3 and r[2] == "kB"}


def _caches() -> list[CacheLevel]:
    found = []
    for folder in sorted(_CACHE.glob("index*")):
        kind, level, size = (_text(folder / name) for name in ("type", "level", "size"))
        shared = _text(folder / "shared_cpu_list")
        if kind == "Instruction" or level is None or size is None:
            continue
        sharing = _cpus_in(shared) if shared else 1
        count = max(1, (os.cpu_count() or 1) // max(1, sharing))
        found.append(CacheLevel(level=int(level), bytes=_size_bytes(size), instances=count))
    return found


def _cpus_in(ranges: str) -> int:
    """How many CPUs a kernel list such as ``0-3,8`` names."""
    total = 0
    for part in ranges.split(","):
        low, _, high = part.partition("-")
        total += int(high or low) - int(low) + 1
    return total


def _size_bytes(text: str) -> int:
    units = {"K": 2**10, "M": 2**20, "G": 2**30}
    return int(text[:-1]) * units[text[-1]] if text[-1] in units else int(text)


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
