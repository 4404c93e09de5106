"""A micro-benchmark of this machine's CPU or accelerator, taken with torch: ``runners measure-device OUT``.

It measures what the performance model has parameters for, in groups (``benchmark_groups``). Every pattern is
warmed up once and repeated; the document keeps median, quartiles and extremes, with thread count, working
set, versions, the date and how much of the machine other processes took meanwhile.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

import psutil

from runners.evidence.benchmark_clock import FEWEST, Clock, Timer, repeat
from runners.evidence.benchmark_device import CPU, KINDS, Measured, measured_device, require_torch
from runners.evidence.benchmark_entry import entry
from runners.evidence.benchmark_groups import GROUPS, take_group
from runners.evidence.benchmark_patterns import EXECUTION, Pattern, Shapes
from runners.protocol import host
from runners.protocol.errors import Finding, Refused
from runners.protocol.threads import OPENMP_WAITING

FORMAT = 1
KIND = "assay-device-benchmark"
# Matrices, state and vocabulary of the example study's model, SmolLM2-135M.
DEFAULT_SHAPES = {
    "layers": 30,
    "d_model": 576,
    "heads": 9,
    "kv_heads": 3,
    "d_head": 64,
    "d_ff": 1536,
    "vocabulary": 49152,
}
LATE = 1.5  # times the wanted duration; after that one repetition must do
REPETITION_GROUPS = 40  # a group's seconds are shared out over about so many patterns
DISTURBED_SHARE = 0.1  # of the machine's CPU time, taken by others

Progress = Callable[[str], None]


def main(out_path: str | Path, options: Sequence[str] = ()) -> int:
    """Measure and write the document to ``out_path``. Exit code 0; refusals raise RunnerError."""
    arguments = _arguments(options)
    document = measure(
        shapes={**DEFAULT_SHAPES, **arguments.shapes},
        threads=arguments.threads or (os.cpu_count() or 1),
        working_set_bytes=arguments.working_set_bytes,
        seconds=arguments.seconds,
        device=arguments.device,
        groups=arguments.groups,
        progress=progress_on(sys.stderr),
    )
    out = Path(out_path)
    temporary = out.with_name(f".{out.name}.{os.getpid()}")
    temporary.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    temporary.replace(out)
    return 0


def measure(
    *,
    shapes: dict[str, int],
    threads: int,
    working_set_bytes: int | None,
    seconds: float,
    device: str = CPU,
    groups: Sequence[str] = ("model",),
    timer: Timer = time.perf_counter_ns,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Time every pattern and describe the conditions.

    ``working_set_bytes`` is the size of the read-only buffer (default: the model's matrices in float32).
    ``seconds`` of each group are shared out over its patterns; each gets at least three repetitions while
    time allows.
    """
    description = host.describe()
    measured = measured_device(device, described=description, timer=timer)
    torch = require_torch()
    torch.set_num_threads(threads)
    before, start_load, started = _cpu_times(), os.getloadavg(), time.monotonic()
    with torch.inference_mode(), torch.device(device):
        measurements = [
            taken
            for group in groups
            for taken in _measurements(
                group, Shapes(**shapes), device=measured, threads=threads,
                working_set_bytes=working_set_bytes, seconds=seconds, progress=progress,
            )
        ]  # fmt: skip
    progress("")
    duration_s = time.monotonic() - started
    others = _others_share(before, _cpu_times())
    return {
        "format": FORMAT,
        "kind": KIND,
        "source": "micro-benchmark",
        "measured_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "duration_s": duration_s,
        "host": description,
        "fingerprint": host.fingerprint(description),
        "device": measured.description,
        "software": _software(torch),
        "threads": threads,
        "shapes": shapes,
        "groups": list(groups),
        "conditions": {
            "load_average_before": start_load[0],
            "load_average_after": os.getloadavg()[0],
            "other_cpu_share": others,
            "disturbed": None if others is None else others > DISTURBED_SHARE,
            "thread_waiting": {name: os.environ.get(name) for name in OPENMP_WAITING},
        },
        "measurements": measurements,
    }


def progress_on(stream: TextIO) -> Progress:
    """One line that is written over on a terminal; elsewhere one line a group."""
    said: set[str] = set()

    def say(text: str) -> None:
        group = text.partition(":")[0]
        if stream.isatty():
            stream.write(f"\r\033[K{text}" if text else "\r\033[K")
        elif text and group not in said:
            said.add(group)
            stream.write(f"measuring {group}\n")
        stream.flush()

    return say


def _measurements(
    group: str,
    shapes: Shapes,
    *,
    device: Measured,
    threads: int,
    working_set_bytes: int | None,
    seconds: float,
    progress: Progress,
) -> list[dict[str, Any]]:
    """Every pattern of one group, timed."""
    found: list[dict[str, Any]] = []
    clock = device.clock
    late_ns = clock.now_ns() + int(LATE * seconds * 1e9)

    def take(pattern: Pattern, weight: float) -> None:
        progress(f"{group}: {pattern.name}")
        budget_s = seconds / REPETITION_GROUPS * weight
        values_ns = _timed(pattern, clock, budget_s=budget_s, late_ns=late_ns)
        found.append(
            entry(pattern, values_ns, caches=device.caches, threads=threads, beyond=device.beyond)
        )

    take_group(group, shapes, device=device, working_set_bytes=working_set_bytes, take=take)
    return found


def _timed(pattern: Pattern, clock: Clock, *, budget_s: float, late_ns: int) -> list[int]:
    """On a machine that others keep busy everything takes longer; the end must still be in sight."""
    measure = clock.execution_ns if pattern.timed == EXECUTION else clock.submission_ns
    at_least = FEWEST if clock.now_ns() < late_ns else 1
    return repeat(pattern.run, measure=measure, clock=clock, budget_s=budget_s, at_least=at_least)


def _cpu_times() -> tuple[float, float, float]:
    """(busy of the whole machine, of this process, total) CPU seconds so far."""
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    total = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
    own = time.process_time()
    return total - idle, own, total


def _others_share(
    before: tuple[float, float, float], after: tuple[float, float, float]
) -> float | None:
    """The share of the machine's CPU time that went to other processes (steal included)."""
    busy, own, total = (b - a for a, b in zip(before, after, strict=True))
    return None if total <= 0 else max(0.0, (busy - own) / total)


def _software(torch: Any) -> dict[str, Any]:
    """Versions that decide which kernels run; the libraries that may serve a product in this build."""
    blas = [name for name in ("mkl", "mkldnn") if getattr(torch.backends, name).is_available()]
    return {
        "torch": torch.__version__,
        "blas": blas or ["unknown"],
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
    }


def _arguments(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m runners measure-device OUT", exit_on_error=False
    )
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--working-set-bytes", type=int, default=None)
    parser.add_argument("--seconds", type=float, default=8.0, help="for each group")
    parser.add_argument("--shapes", type=_shapes, default={}, help="layers=30,d_model=576,...")
    parser.add_argument("--device", default=CPU, help=", ".join(KINDS))
    parser.add_argument("--groups", type=_groups, default=["model"], help=",".join(GROUPS))
    arguments = parser.parse_args(list(options))
    for name in ("threads", "working_set_bytes"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise Refused(
                Finding(field=name, seen=str(value), allowed="at least 1", remedy="Correct it.")
            )
    return arguments


def _groups(text: str) -> list[str]:
    return _known(text.split(","), allowed=GROUPS, field="groups")


def _shapes(text: str) -> dict[str, int]:
    pairs = dict(part.split("=", 1) for part in text.split(",") if part)
    _known(list(pairs), allowed=DEFAULT_SHAPES, field="shapes")
    return {name: int(value) for name, value in pairs.items()}


def _known(names: list[str], *, allowed: Sequence[str] | dict[str, int], field: str) -> list[str]:
    unknown = sorted(set(names) - set(allowed))
    if unknown:
        raise Refused(
            Finding(
                field=f"{field}.{unknown[0]}",
                seen="unknown",
                allowed=", ".join(allowed),
                remedy="Name one of the allowed ones.",
            )
        )
    return names
