"""``python -m runners offer``: what this machine offers to runs: devices, installed engines, memory.

A device has the driver's own name; what the catalogue calls it is the platform's affair.
"""

import json
import platform
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from runners.engines.replay.versions import VERSION as REPLAY_VERSION
from runners.engines.torch import versions as torch_versions
from runners.environments import images, records
from runners.evidence import amd_smi, cgroup, device_readings
from runners.evidence.device_readings import DeviceFacts
from runners.protocol import clocks


def main() -> int:
    sys.stdout.write(json.dumps(offer()) + "\n")
    return 0


def offer() -> dict[str, Any]:
    machine = _machine()
    return {
        "machine": machine,
        "network": _network(machine),
        "host": socket.gethostname(),
        "queues": [],  # the worker says which it serves
        "memory_bytes": _memory_bytes(),
        "devices": [*_processors(machine), *_accelerators(machine)],
        "engines": list(_engines()),
    }


def _machine() -> str:
    try:
        return clocks.boot_id()
    except OSError:
        return f"{socket.gethostname()}-{int(psutil.boot_time())}"


def _network(machine: str) -> str:
    """Whose loopback this is: that of a network namespace of the machine."""
    try:
        return f"{machine}/{Path('/proc/self/ns/net').stat().st_ino}"
    except OSError:
        return machine


def _memory_bytes() -> int:
    """What the kernel has, or what the control group leaves of it."""
    total, limit = psutil.virtual_memory().total, cgroup.find().limits().memory_limit_bytes
    return total if limit is None else min(total, limit)


def _processors(machine: str) -> Iterator[dict[str, Any]]:
    """All cores together are one device: two measurements on them would disturb each other."""
    yield _device(f"{machine}/cpu", "cpu", 0, _processor_name(), None)


def _processor_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:  # noqa: PTH123
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _accelerators(machine: str) -> Iterator[dict[str, Any]]:
    """``cuda`` is torch's name for NVIDIA's and (under ROCm) AMD's devices; a machine has one maker's."""
    found: list[DeviceFacts] = device_readings.facts() or amd_smi.facts()
    for fact in found:
        own = fact["uuid"] or f"{machine}/cuda{fact['index']}"
        name = fact["name"] or "a device without a name"
        yield _device(own, "cuda", fact["index"], name, fact["memory_bytes"])


def _device(own: str, kind: str, index: int, name: str, memory: int | None) -> dict[str, Any]:
    return {"id": own, "kind": kind, "index": index, "name": name, "memory_bytes": memory}


def _engines() -> Iterator[dict[str, Any]]:
    """The two that run in Assay's own environment, every environment and every image installed."""
    yield {"key": "replay", "version": REPLAY_VERSION, "environment": "platform"}
    torch = torch_versions.installed("torch")
    if torch is not None:
        version = torch_versions.public(torch)
        yield {"key": "torch", "version": version, "environment": "platform"}
    for environment in records.installed():
        yield {
            "key": environment.pin.key,
            "version": environment.pin.version,
            "environment": "venv",
            "variant": environment.pin.variant,
            "lock_sha256": environment.lock_sha256,
        }
    for image in images.installed():
        yield {
            "key": image.pin.key,
            "version": image.pin.version,
            "environment": "container",
            "variant": image.pin.variant,
            "image_digest": image.digest,
        }
