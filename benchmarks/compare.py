"""``assay load`` beside the reference client, in one session against one exact mock; ratios at the end.

    python benchmarks/compare.py [--cells c32,c128,c512,flat] [--reps 3] [--out DIR]

Needs a C compiler. Accuracy at 128 and 512 streams counts only while everything else on the machine burns
less than 0.2 cores; the table says how much it was.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
HARNESS = HERE / "harness"
QUIET_CORES = 0.2

# In the order of ``figures``: absolute TTFT error mean and p99, ITL p99 error (ms), CPU us per event, streams
# held, CPU us per event with analysis, CPU s before the first request; None: no target.
Targets = tuple[float | None, ...]
TARGETS: dict[str, Targets] = {
    "c32": (1, 4, 1.2, 60, 32, None, 2),
    "c128": (2, 8, 4, 40, 126, None, 2),
    "c512": (5, 20, 15, 25, 490, 35, 2),
    "flat": (None, None, None, 4, None, 12, 2),
}


def compile_mock(folder: Path) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        sys.exit("no C compiler (allowed: cc, gcc or clang on PATH). apt-get install gcc")
    program = folder / "mock_sse"
    subprocess.run([compiler, "-O2", "-o", program, HARNESS / "mock_sse.c"], check=True)
    return program


def run(
    out: Path, *, cells: str, reps: int, tools: str = "own,reference", processes: int = 1
) -> None:
    own = (
        f"{sys.executable} -m assay.cli.main load --url http://127.0.0.1:{{port}} --model mock "
        "--concurrency {concurrency} --requests {requests} --tokens {tokens} --json {out} "
        f"--processes {processes}"
    )
    root = HERE.parent
    environment = os.environ | {
        "BENCH_MOCK": str(compile_mock(out)),
        "BENCH_REF_PY": sys.executable,
        "BENCH_OWN": own,
        "ASSAY_HOME": str(out / "home"),
        "PYTHONPATH": os.pathsep.join([str(root / "platform"), str(root)]),
    }
    command = [sys.executable, str(HERE / "harness_run.py"), "run", "--out", str(out)]
    command += ["--tools", tools, "--cells", cells, "--reps", str(reps)]
    subprocess.run(command, check=True, env=environment)


def figures(result: dict[str, Any]) -> dict[str, float | None]:
    reported, mock = result["reported"], result["mock"]

    def off(name: str, served: str, statistic: str) -> float | None:
        value = reported.get(name)
        return None if value is None else abs(value - mock[served][statistic])

    held = mock["done"] * mock["served_e2e"]["mean_ms"] / 1e3 / result["window_s"]
    return {
        "TTFT error mean, ms": off("ttft_mean", "served_ttft", "mean_ms"),
        "TTFT error p99, ms": off("ttft_p99", "served_ttft", "p99_ms"),
        "ITL error p99, ms": off("itl_p99", "served_gap", "p99_ms"),
        "CPU us/event, load": result["us_per_event_window"],
        "streams held": held,
        "CPU us/event, load and after": result["us_per_event_load_and_after"],
        "CPU s before": result["cpu_before_s"],
        "events/s": result["events_per_s"],
        "failed": reported.get("failed"),
        "others, cores": result["others_cores"],
    }


def median(results: list[dict[str, Any]], name: str) -> float | None:
    values = [v for r in results if (v := figures(r)[name]) is not None]
    return statistics.median(values) if values else None


def table(out: Path) -> None:
    results = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    for cell in dict.fromkeys(r["cell"] for r in results):
        here = [r for r in results if r["cell"] == cell]
        own = [r for r in here if r["tool"] == "own"]
        reference = [r for r in here if r["tool"] == "reference"]
        print(f"\n{cell}: medians of {len(own)} and {len(reference)}")
        print(f"| {'figure':30} | {'own':>10} | {'reference':>10} | {'ratio':>7} | target |")
        print("|---|---|---|---|---|")
        targets = TARGETS.get(cell, ())
        for index, name in enumerate(figures(here[0])):
            a, b = median(own, name), median(reference, name)
            ratio = f"{a / b:7.2f}" if a is not None and b else "      -"
            target = targets[index] if index < len(targets) else None
            print(f"| {name:30} | {shown(a)} | {shown(b)} | {ratio} | {target or '-'} |")
        if (median(own, "others, cores") or 0) > QUIET_CORES:
            print("the machine was not quiet: accuracy does not count, see 'others, cores'")


def shown(value: float | None) -> str:
    return f"{value:10.2f}" if value is not None else f"{'-':>10}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", default="c32,c128,c512,flat")
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    out = (arguments.out or Path(tempfile.mkdtemp(prefix="assay-bench-"))).resolve()
    out.mkdir(parents=True, exist_ok=True)
    run(out, cells=arguments.cells, reps=arguments.reps)
    table(out)
    print(f"\nraw results: {out / 'results.jsonl'}")


if __name__ == "__main__":
    main()
