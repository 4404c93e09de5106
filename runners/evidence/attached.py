"""What is attached to a host beside processors and memory: storage, network, distances between its nodes.

Rated figures come from the kernel's own tables; a virtual device often states none, and then the value is
null. Nothing here is measured by moving data.
"""

import os
from pathlib import Path
from typing import Any, NamedTuple

_NETWORK = Path("/sys/class/net")
_BLOCK = Path("/sys/dev/block")
_NODES = Path("/sys/devices/system/node")
_MOUNTS = Path("/proc/self/mounts")
_LOOPBACK = 772  # ARPHRD_LOOPBACK
_PROXY_NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


class Attached(NamedTuple):
    """A fact: ``absent`` says why the value is null."""

    value: Any
    unit: str | None
    source: str
    absent: str


def storage(folder: Path) -> dict[str, Attached]:
    """The file system that a folder lies on, and the device under it."""
    found = os.statvfs(folder)
    kind = _file_system(folder)
    number = folder.stat().st_dev
    queue = _BLOCK / f"{os.major(number)}:{os.minor(number)}"
    turns = _text(queue / "queue/rotational") or _text(queue / "../queue/rotational")
    return {
        "storage_file_system": Attached(kind, None, str(_MOUNTS), "the mount is not listed"),
        "storage_total_bytes": Attached(
            found.f_blocks * found.f_frsize or None, "byte", "statvfs", "none stated"
        ),
        "storage_rotational": Attached(
            None if turns is None else turns == "1", None, str(_BLOCK), "no block device is stated"
        ),
    }


def storage_available_bytes(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def network() -> dict[str, Attached]:
    """Interfaces other than loopback with the speed the driver states (bit/s; null if it states none)."""
    found = {
        path.name: _bits_per_s(path)
        for path in sorted(_NETWORK.glob("*"))
        if _number(path / "type") != _LOOPBACK and _text(path / "operstate") != "down"
    }
    return {
        "network_interfaces": Attached(
            found or None, "bit/s", str(_NETWORK), "no interface but loopback"
        )
    }


def proxies() -> dict[str, Attached]:
    """Which proxy variables the client's environment sets: names alone, a value may hold a secret."""
    named = sorted({n for n in os.environ if n.lower() in _PROXY_NAMES and os.environ[n]})
    return {"proxy_variables": Attached(named, None, "environment", "unreadable")}


def distances() -> dict[str, Attached]:
    """Relative memory distances between NUMA nodes as the firmware states them; 10 is the node itself."""
    rows = [
        [int(word) for word in text.split()]
        for path in sorted(_NODES.glob("node[0-9]*"))
        if (text := _text(path / "distance"))
    ]
    return {"numa_distances": Attached(rows or None, "1", str(_NODES), "no node is listed")}


def _file_system(folder: Path) -> str | None:
    """The type of the longest mount point above the folder."""
    where = folder.resolve()
    best: tuple[int, str | None] = (-1, None)
    for line in (_text(_MOUNTS) or "").splitlines():
        _device, point, kind, *_ = line.split()
        if where.is_relative_to(point) and len(point) > best[0]:
            best = (len(point), kind)
    return best[1]


def _bits_per_s(interface: Path) -> int | None:
    stated = _number(interface / "speed")  # Mbit/s; -1 or an error where none is stated
    return stated * 10**6 if stated is not None and stated > 0 else None


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text is not None and text.lstrip("-").isdigit() else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None
