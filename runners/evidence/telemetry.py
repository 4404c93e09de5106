"""Readings of the host, the engine's processes, the client and the observers themselves.

Counters are running totals as the kernel gives them; a reader takes differences. What a machine does not
count is left out and named as a gap, never written as zero.
"""

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from runners.evidence import device_readings, energy_counters, processes
from runners.evidence.cgroup import Cgroup
from runners.protocol.tables import TelemetryRow as Row

_PROC = Path("/proc")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_CPU_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_FAULTS = {"pgfault": "page_faults", "pgmajfault": "major_faults"}
_FREQUENCY = Path("/sys/devices/system/cpu")


def host_rows(group: Cgroup) -> list[Row]:
    """One reading of the whole host, of this control group, of energy counters and of devices."""
    t_ns = time.monotonic_ns()

    def row(metric: str, value: float, unit: str) -> Row:
        return (t_ns, "host", None, metric, float(value), unit)

    rows: list[Row] = []
    for line in _lines(_PROC / "stat"):
        words = line.split()
        if words[0] == "cpu":
            ticks = zip(_CPU_FIELDS, words[1:], strict=False)
            rows += [row(f"cpu_{name}_s", int(n) / _TICKS_PER_S, "s") for name, n in ticks]
        elif words[0] == "ctxt":
            rows.append(row("context_switches", int(words[1]), "1"))
    for line in _lines(_PROC / "vmstat"):
        name, _, total = line.partition(" ")
        if name in _FAULTS:
            rows.append(row(_FAULTS[name], int(total), "1"))
    if (available := processes.available_bytes()) is not None:
        rows.append(row("available_bytes", available, "byte"))
    reading = group.reading()
    for metric, value, unit in (
        ("cgroup_periods", reading.periods, "1"),
        ("cgroup_throttled_periods", reading.throttled_periods, "1"),
        ("cgroup_throttled_s", reading.throttled_s, "s"),
        ("cgroup_memory_bytes", reading.memory_bytes, "byte"),
    ):
        if value is not None:
            rows.append(row(metric, value, unit))
    for path in sorted(_FREQUENCY.glob("cpu[0-9]*/cpufreq/scaling_cur_freq")):
        rows += [row(f"{path.parts[-3]}_mhz", int(k) / 1000, "MHz") for k in _lines(path)]
    return [*rows, *energy_counters.rows(), *device_readings.rows()]


def process_rows(subject: str, pids: Iterable[int]) -> list[Row]:
    """One reading of each process; one that ended meanwhile gives none."""
    rows: list[Row] = []
    for pid in pids:
        t_ns = time.monotonic_ns()
        for metric, (value, unit) in _process(pid).items():
            rows.append((t_ns, subject, pid, metric, value, unit))
    return rows


def _process(pid: int) -> Mapping[str, tuple[float, str]]:
    try:
        text = (_PROC / str(pid) / "stat").read_bytes()
        status = (_PROC / str(pid) / "status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    fields = text[text.rindex(b")") + 2 :].split()
    switches = {
        line.partition(":")[0]: int(line.split()[1])
        for line in status.splitlines()
        if "voluntary_ctxt_switches" in line
    }
    return {
        "cpu_user_s": (int(fields[11]) / _TICKS_PER_S, "s"),
        "cpu_system_s": (int(fields[12]) / _TICKS_PER_S, "s"),
        "rss_bytes": (float(int(fields[21]) * _PAGE_BYTES), "byte"),
        "page_faults": (float(fields[7]), "1"),
        "major_faults": (float(fields[9]), "1"),
        "threads": (float(fields[17]), "1"),
        "voluntary_switches": (float(switches.get("voluntary_ctxt_switches", 0)), "1"),
        "forced_switches": (float(switches.get("nonvoluntary_ctxt_switches", 0)), "1"),
    }


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except OSError:
        return []
