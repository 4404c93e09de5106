"""Interpret a captured run of 1x and of 10x the events: time, peak memory, and what they grow by.

    python benchmarks/interpretation.py [--requests 10000] [--events 100] [--itl-ms 0] [--times 10]

Each bundle is a real capture (``benchmarks/capture.py``); each interpretation is a process of its own, as the
platform runs it. Peak memory is the largest of its processes, and the sum of all of them sampled on the way.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from capture import Captured, Shape, capture, report
from child_processes import children
from peak_memory import peak_bytes

ROOT = Path(__file__).resolve().parent.parent
TARGET_S = 10.0
TARGET_BYTES = 2 * 2**30
SAMPLE_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreted:
    """One interpretation: seconds and bytes.

    ``largest`` is the peak of its largest process, ``together`` the most of all of them, shared pages once.
    """

    events: int
    wall_s: float
    cpu_s: float
    largest: int
    together: int
    derived: int


def interpret(found: Captured, derived: Path) -> Interpreted:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "platform"), str(ROOT)])}
    command = [sys.executable, "-P", "-m", "assay.archive.interpretation"]
    began = time.perf_counter()
    process = subprocess.Popen(
        [*command, str(found.bundle), str(derived)], env=environment, stdout=subprocess.DEVNULL
    )
    seen = _Watch(process.pid)
    seen.start()
    _, status, usage = os.wait4(process.pid, 0)  # of it and of its workers
    if status != 0:
        sys.exit(f"the interpretation of {found.bundle} ended with status {status}")
    wall_s = time.perf_counter() - began
    seen.over.set()
    seen.join()
    return Interpreted(
        events=found.events,
        wall_s=wall_s,
        cpu_s=usage.ru_utime + usage.ru_stime,
        largest=seen.largest,
        together=seen.most,
        derived=sum(p.stat().st_size for p in derived.rglob("*") if p.is_file()),
    )


class _Watch(threading.Thread):
    """Samples a process and its children: the peak of each, and the proportional set size of all."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.over = pid, threading.Event()
        self.most = self.largest = 0

    def run(self) -> None:
        while not self.over.wait(SAMPLE_S):
            pids = [self.pid, *children(self.pid)]
            self.most = max(self.most, sum(map(_pss, pids)))
            self.largest = max(self.largest, *map(peak_bytes, pids))


def _pss(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--events", type=int, default=100, help="content events a request")
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--itl-ms", type=float, default=0.0)
    parser.add_argument("--times", type=int, default=10, help="how much larger the second one is")
    asked = parser.parse_args()
    done = []
    for times in dict.fromkeys((1, asked.times)):
        shape = Shape(
            requests=asked.requests * times,
            events=asked.events,
            concurrency=asked.concurrency,
            itl_ms=asked.itl_ms,
        )
        with tempfile.TemporaryDirectory(prefix="assay-interpretation-") as name:
            found = capture(Path(name) / "run", shape)
            report(found)
            done.append(interpret(found, Path(name) / "derived"))
            show(done[-1])
    if len(done) == 2:
        compare(*done)


def show(one: Interpreted) -> None:
    print(
        f"interpreted {one.events:,} events: {one.wall_s:.1f} s, CPU {one.cpu_s:.1f} s "
        f"({one.cpu_s / one.events * 1e6:.1f} us an event), largest process "
        f"{one.largest / 2**20:.0f} MiB, together {one.together / 2**20:.0f} MiB, "
        f"derived {one.derived / one.events:.1f} bytes an event"
    )
    if one.events == 1_000_000:
        held = one.wall_s < TARGET_S and max(one.largest, one.together) < TARGET_BYTES
        print(f"target {TARGET_S:.0f} s and {TARGET_BYTES / 2**30:.0f} GiB: {_held(held)}")


def compare(first: Interpreted, second: Interpreted) -> None:
    events = second.events / first.events
    print(f"{events:.0f} times the events: {second.wall_s / first.wall_s:.1f} times the time")
    print(f"and {second.together / first.together:.2f} times the memory")
    print(f"below {TARGET_BYTES / 2**30:.0f} GiB: {_held(second.together < TARGET_BYTES)}")


def _held(held: bool) -> str:
    return "held" if held else "NOT held"


if __name__ == "__main__":
    main()
