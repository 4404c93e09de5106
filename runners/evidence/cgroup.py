"""Limits and throttling of the control group this process lives in, version 1 or 2.

What a file does not say is null; "max" and the kernel's own huge default mean that there is no limit.
"""

from dataclasses import dataclass
from pathlib import Path

_NO_LIMIT_BYTES = 2**60  # version 1 writes 2**63 - 4096 rounded to pages when nothing is set


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupLimits:
    """The quota and the limit are null where none is set, ``version`` where there is no group."""

    version: int | None
    path: str | None
    cpu_quota_cores: float | None
    memory_limit_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupReading:
    """Running totals; null where the kernel does not count."""

    periods: int | None
    throttled_periods: int | None
    throttled_s: float | None
    memory_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cgroup:
    """Folders of the controllers. With version 2 both are the same."""

    version: int | None
    cpu: Path | None
    memory: Path | None

    def limits(self) -> CgroupLimits:
        folder = self.cpu or self.memory
        return CgroupLimits(
            version=self.version,
            path=None if folder is None else str(folder),
            cpu_quota_cores=self._quota(),
            memory_limit_bytes=self._memory_limit(),
        )

    def reading(self) -> CgroupReading:
        stat = _pairs(self.cpu, "cpu.stat")
        throttled_s = None
        if "throttled_usec" in stat:
            throttled_s = stat["throttled_usec"] / 1e6
        elif "throttled_time" in stat:
            throttled_s = stat["throttled_time"] / 1e9
        name = "memory.current" if self.version == 2 else "memory.usage_in_bytes"
        return CgroupReading(
            periods=stat.get("nr_periods"),
            throttled_periods=stat.get("nr_throttled"),
            throttled_s=throttled_s,
            memory_bytes=_number(self.memory, name),
        )

    def _quota(self) -> float | None:
        if self.version == 2:
            words = (_text(self.cpu, "cpu.max") or "").split()
            if len(words) != 2 or words[0] == "max":
                return None
            return int(words[0]) / int(words[1])
        quota, period = (
            _number(self.cpu, "cpu.cfs_quota_us"),
            _number(self.cpu, "cpu.cfs_period_us"),
        )
        return quota / period if quota and period and quota > 0 else None

    def _memory_limit(self) -> int | None:
        name = "memory.max" if self.version == 2 else "memory.limit_in_bytes"
        limit = _number(self.memory, name)
        return limit if limit is not None and limit < _NO_LIMIT_BYTES else None


def find(*, proc: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> Cgroup:
    """The groups of this process. A path unknown here (inside a container) falls back to the root."""
    cpu = memory = unified = None
    for line in _lines(proc):
        number, names, path = line.split(":", 2)
        controllers = names.split(",")
        if number == "0" and not names:
            unified = _folder(root, path)
        if "cpu" in controllers:
            cpu = _folder(root / "cpu", path)
        if "memory" in controllers:
            memory = _folder(root / "memory", path)
    if cpu is not None or memory is not None:
        return Cgroup(version=1, cpu=cpu, memory=memory)
    if unified is not None and (root / "cgroup.controllers").exists():
        return Cgroup(version=2, cpu=unified, memory=unified)
    return Cgroup(version=None, cpu=None, memory=None)


def _folder(root: Path, path: str) -> Path | None:
    for folder in (root / path.lstrip("/"), root):
        if folder.is_dir():
            return folder
    return None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _text(folder: Path | None, name: str) -> str | None:
    if folder is None:
        return None
    try:
        return (folder / name).read_text(encoding="ascii").strip()
    except OSError:
        return None


def _number(folder: Path | None, name: str) -> int | None:
    text = _text(folder, name)
    return int(text) if text is not None and text.lstrip("-").isdigit() else None


def _pairs(folder: Path | None, name: str) -> dict[str, int]:
    rows = (line.split() for line in (_text(folder, name) or "").splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}
