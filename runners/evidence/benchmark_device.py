"""The device that is measured: what it is, which clock times it, how large its caches are.

The CPU is the default. ``cuda`` is torch's name for NVIDIA and (under ROCm) AMD devices.
"""

import os
import time
from dataclasses import dataclass
from typing import Any

import psutil

from runners.evidence.benchmark_clock import Clock, EventClock, HostClock, Timer
from runners.protocol import host
from runners.protocol.errors import EnvironmentLacks, Finding, Refused

CPU, CUDA = "cpu", "cuda"
KINDS = (CPU, CUDA)
MEMORY_SHARE = 0.25  # of the memory available, for one buffer


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """``caches`` and ``beyond`` name memory levels; ``dtypes`` are what products are timed in."""

    kind: str
    description: dict[str, Any]
    clock: Clock
    caches: list[host.CacheLevel]
    beyond: str
    limit_bytes: int
    dtypes: tuple[str, ...]


def measured_device(
    kind: str, *, described: host.HostDescription, timer: Timer = time.perf_counter_ns
) -> Measured:
    """The device and its clock; refuses an unknown kind, and says what is lacking for a known one."""
    torch = require_torch()
    if kind == CPU:
        return _cpu(torch, described, timer)
    if kind == CUDA:
        return _cuda(torch, timer)
    raise Refused(
        Finding(
            field="device",
            seen=kind,
            allowed=", ".join(KINDS),
            remedy="Other accelerators have no event clock here: a host clock would time the submit alone.",
        )
    )


def require_torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise EnvironmentLacks(
            Finding(
                field="torch",
                seen="not installed",
                allowed="a torch CPU build",
                remedy='Install it with: pip install -e ".[torch]"',
            )
        ) from error
    return torch


def _cpu(torch: Any, described: host.HostDescription, timer: Timer) -> Measured:
    """On the CPU an op is done when its call returns; elsewhere a clock around it times the submit alone."""
    elsewhere = str(torch.get_default_device().type)
    if elsewhere != CPU:
        raise Refused(
            Finding(
                field="torch default device",
                seen=elsewhere,
                allowed=CPU,
                remedy="Time an accelerator's kernels by its own events: submit time is no kernel time.",
            )
        )
    return Measured(
        kind=CPU,
        description={"kind": CPU, "name": described["cpu_model"]},
        clock=HostClock(timer),
        caches=described["caches"],
        beyond="DRAM",
        limit_bytes=int(psutil.virtual_memory().available * MEMORY_SHARE),
        dtypes=("float32", "bfloat16"),
    )


def _cuda(torch: Any, timer: Timer) -> Measured:
    if not torch.cuda.is_available():
        raise EnvironmentLacks(
            Finding(
                field="device",
                seen=f"cuda is not available to torch {torch.__version__}",
                allowed="a CUDA or ROCm device with a torch build for it",
                remedy="Install such a torch build on a machine with a device, or measure the CPU.",
            )
        )
    found = torch.cuda.get_device_properties(0)
    free, _ = torch.cuda.mem_get_info()
    return Measured(
        kind=CUDA,
        description={
            "kind": CUDA,
            "name": found.name,
            "memory_bytes": found.total_memory,
            "processors": found.multi_processor_count,
            "compute_capability": f"{found.major}.{found.minor}",
            "visible": os.environ.get("CUDA_VISIBLE_DEVICES"),
        },
        clock=EventClock(torch.cuda, timer),
        caches=[host.CacheLevel(level=2, bytes=found.L2_cache_size, instances=1)],
        beyond="device memory",
        limit_bytes=int(free * MEMORY_SHARE),
        dtypes=("bfloat16", "float16", "float32"),
    )
