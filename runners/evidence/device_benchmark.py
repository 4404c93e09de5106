"""A short micro-benchmark of this machine's CPU, taken with torch: ``python -m runners measure-device OUT``.

It measures what the performance model has parameters for: read-only bandwidth at the model's working-set
size, in cache and beyond the caches, one pass of the model's matrices by rows and dtype, state reads, and
the cost of launching an op. Every pattern is warmed up once and repeated; the document keeps each
repetition, with the thread count, the date and how much of the machine other processes took meanwhile.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from runners.protocol import host
from runners.protocol.errors import EnvironmentLacks, Finding, Refused
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
ROWS = (1, 2, 4, 8, 16, 32, 64, 256)
REDUCED_ROWS = (1, 8, 256)  # for the second dtype
CACHE_BYTES = 64 * 2**20
BEYOND_CACHES = 2.5  # times the last cache level
MEMORY_SHARE = 0.25  # of the memory available, for one buffer
FEWEST, MOST = 3, 200  # repetitions of a pattern
LATE = 1.5  # times the wanted duration; after that one repetition must do
DISTURBED_SHARE = 0.1  # of the machine's CPU time, taken by others


def main(out_path: str | Path, options: Sequence[str] = ()) -> int:
    """Measure and write the document to ``out_path``. Exit code 0; refusals raise RunnerError."""
    arguments = _arguments(options)
    document = measure(
        shapes={**DEFAULT_SHAPES, **arguments.shapes},
        threads=arguments.threads or (os.cpu_count() or 1),
        working_set_bytes=arguments.working_set_bytes,
        seconds=arguments.seconds,
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
    timer: Callable[[], int] = time.perf_counter_ns,
) -> dict[str, Any]:
    """Time every pattern and describe the conditions.

    ``working_set_bytes`` is the size of the read-only buffer (default: the model's matrices in float32).
    ``seconds`` is shared out over the patterns; each gets at least three repetitions while time allows.
    """
    torch = _torch()
    _require_cpu(torch)
    torch.set_num_threads(threads)
    description = host.describe()
    before, start_load, started = _cpu_times(), os.getloadavg(), time.monotonic()
    with torch.inference_mode():
        measurements = _measurements(
            shapes, working_set_bytes=working_set_bytes, seconds=seconds, timer=timer,
            caches=description["caches"], threads=threads,
        )  # fmt: skip
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
        "device": {"kind": "cpu", "name": description["cpu_model"]},
        "software": {"torch": torch.__version__, "blas": _blas(torch)},
        "threads": threads,
        "shapes": shapes,
        "conditions": {
            "load_average_before": start_load[0],
            "load_average_after": os.getloadavg()[0],
            "other_cpu_share": others,
            "disturbed": None if others is None else others > DISTURBED_SHARE,
            "thread_waiting": {name: os.environ.get(name) for name in OPENMP_WAITING},
        },
        "measurements": measurements,
    }


def _measurements(
    shapes: dict[str, int],
    *,
    working_set_bytes: int | None,
    seconds: float,
    timer: Callable[[], int],
    caches: list[host.CacheLevel],
    threads: int,
) -> list[dict[str, Any]]:
    from runners.evidence import benchmark_patterns as patterns

    torch = _torch()
    shape = patterns.Shapes(**shapes)
    limit = int(psutil.virtual_memory().available * MEMORY_SHARE)
    layers = _layers_within(shape.elements() * 4, layers=shape.layers, limit=limit)
    weights = patterns.Weights(shape, torch.float32, layers=layers)
    wanted = min(working_set_bytes or weights.bytes, limit)
    share_s = seconds / 40  # about that many repetition groups
    late_ns = timer() + int(LATE * seconds * 1e9)
    found: list[dict[str, Any]] = []

    def take(pattern: patterns.Pattern, *, weight: float = 1.0) -> None:
        # On a machine that others keep busy everything takes longer; the end must still be in sight.
        at_least = FEWEST if timer() < late_ns else 1
        values_ns = _repeat(pattern.run, budget_s=share_s * weight, at_least=at_least, timer=timer)
        found.append(_entry(pattern, values_ns, caches=caches, threads=threads))

    buffer = weights.buffer[: wanted // 4] if wanted <= weights.bytes else torch.rand(wanted // 4)
    for pattern in patterns.read_patterns(buffer, label="working_set", columns=shape.d_ff):
        take(pattern, weight=2.0)
    small = weights.buffer[: min(CACHE_BYTES, weights.bytes) // 4]
    for pattern in patterns.read_patterns(small, label="cache", columns=shape.d_ff):
        take(pattern)
    for rows in ROWS:
        take(patterns.matmul_pattern(weights, rows=rows), weight=2.0)
    half = patterns.Weights(shape, torch.bfloat16, layers=layers)
    del buffer, small, weights
    for rows in REDUCED_ROWS:
        take(patterns.matmul_pattern(half, rows=rows))
    del half
    last_cache = max((c["bytes"] * c["instances"] for c in caches), default=0)
    beyond = torch.full((min(max(int(BEYOND_CACHES * last_cache), wanted), limit) // 4,), 0.5)
    for pattern in patterns.read_patterns(beyond, label="beyond_caches", columns=shape.d_ff):
        take(pattern)
    del beyond
    for batch, context in ((1, 128), (1, 1024), (4, 512)):
        take(patterns.state_pattern(shape, batch=batch, context=context))
    for tokens in (64, 256):
        take(patterns.prefill_attention_pattern(shape, tokens=tokens), weight=0.5)
    take(patterns.gather_pattern(shape, context=512), weight=0.5)
    take(patterns.launch_pattern(shape, repeats=100), weight=0.5)
    take(patterns.view_pattern(shape, repeats=300), weight=0.5)
    layer_launch = patterns.layer_launch_pattern(layers=shape.layers)
    if layer_launch is not None:  # else the document has no such entry: absent, not zero
        take(layer_launch, weight=1.5)
    return found


def _repeat(
    run: Callable[[], object], *, budget_s: float, at_least: int, timer: Callable[[], int]
) -> list[int]:
    """Durations in ns: one warm-up call, then at least ``at_least`` and at most 200 timed ones."""
    run()
    values: list[int] = []
    end = timer() + int(budget_s * 1e9)
    while len(values) < at_least or (timer() < end and len(values) < MOST):
        start = timer()
        run()
        values.append(timer() - start)
    return values


def _entry(
    pattern: Any, values_ns: list[int], *, caches: list[host.CacheLevel], threads: int
) -> dict[str, Any]:
    """One measurement: durations and, where the pattern has them, byte/s, FLOP/s and s per call.

    ``value`` is the median, ``best`` the fastest repetition, ``spread`` the lowest and highest value seen.
    """
    entry: dict[str, Any] = {
        "name": pattern.name,
        "pattern": pattern.pattern,
        "dtype": pattern.dtype,
        "conditions": pattern.conditions,
        "threads": threads,
        "working_set_bytes": pattern.working_set_bytes,
        "memory_level": memory_level(pattern.working_set_bytes, caches),
        "repetitions": len(values_ns),
        "durations_ns": values_ns if len(values_ns) <= 20 else None,
        "bytes": pattern.bytes,
        "flops": pattern.flops,
        "calls": pattern.calls,
        "rates": {},
    }
    seconds = sorted(value / 1e9 for value in values_ns)
    for work, unit in ((pattern.bytes, "byte/s"), (pattern.flops, "FLOP/s")):
        if work:
            entry["rates"][unit] = {
                "value": work / median(seconds),
                "best": work / seconds[0],
                "spread": [work / seconds[-1], work / seconds[0]],
            }
    if pattern.calls:
        entry["rates"]["s/call"] = {
            "value": median(seconds) / pattern.calls,
            "best": seconds[0] / pattern.calls,
            "spread": [seconds[0] / pattern.calls, seconds[-1] / pattern.calls],
        }
    return entry


def memory_level(working_set_bytes: int, caches: list[host.CacheLevel]) -> str:
    """The level that can hold a working set, from the cache sizes the kernel reports.

    A set within twice the last cache is served partly by it, so both levels are named. A virtual machine
    reports the host's whole last-level cache although others use it too; the level says what it can be.
    """
    for cache in sorted(caches, key=lambda c: c["level"]):
        total = cache["bytes"] * cache["instances"]
        if working_set_bytes <= total:
            return f"L{cache['level']}"
    if caches:
        last = max(caches, key=lambda c: c["level"])
        if working_set_bytes <= 2 * last["bytes"] * last["instances"]:
            return f"L{last['level']} and DRAM"
    return "DRAM"


def _layers_within(total_bytes: int, *, layers: int, limit: int) -> int:
    """How many layers' matrices fit the buffer limit; at least one."""
    return max(1, min(layers, layers * limit // max(1, total_bytes)))


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


def _torch() -> Any:
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


def _require_cpu(torch: Any) -> None:
    """On the CPU an op is done when its call returns; elsewhere a clock around it times the submit alone."""
    device = str(torch.get_default_device().type)
    if device != "cpu":
        raise Refused(
            Finding(
                field="torch default device",
                seen=device,
                allowed="cpu",
                remedy="Time an accelerator's kernels by its own events: submit time is no kernel time.",
            )
        )


def _blas(torch: Any) -> list[str]:
    """The libraries that may serve a matrix product in this build."""
    found = [name for name in ("mkl", "mkldnn") if getattr(torch.backends, name).is_available()]
    return found or ["unknown"]


def _arguments(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m runners measure-device OUT", exit_on_error=False
    )
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--working-set-bytes", type=int, default=None)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--shapes", type=_shapes, default={}, help="layers=30,d_model=576,...")
    arguments = parser.parse_args(list(options))
    for name in ("threads", "working_set_bytes"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise Refused(
                Finding(field=name, seen=str(value), allowed="at least 1", remedy="Correct it.")
            )
    return arguments


def _shapes(text: str) -> dict[str, int]:
    pairs = dict(part.split("=", 1) for part in text.split(",") if part)
    unknown = sorted(set(pairs) - set(DEFAULT_SHAPES))
    if unknown:
        raise Refused(
            Finding(
                field=f"shapes.{unknown[0]}",
                seen="unknown",
                allowed=", ".join(DEFAULT_SHAPES),
                remedy="Name one of the allowed shapes.",
            )
        )
    return {name: int(value) for name, value in pairs.items()}
