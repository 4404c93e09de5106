"""How much more one plan takes when several client processes share it: flat out, against one mock.

    python benchmarks/processes.py [--processes 1,2] [--reps 3] [--out DIR]

On two cores the mock and two clients fight for them, so that the ratio says what this machine gives, not what
the client could do on more.
"""

import argparse
import json
import statistics
import tempfile
from pathlib import Path

from compare import figures, run


def events_per_s(out: Path) -> float:
    results = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    return statistics.median(figures(r)["events/s"] or 0.0 for r in results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", default="1,2")
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    out = (arguments.out or Path(tempfile.mkdtemp(prefix="assay-bench-"))).resolve()
    first: float | None = None
    for count in map(int, arguments.processes.split(",")):
        folder = out / str(count)
        folder.mkdir(parents=True, exist_ok=True)
        run(folder, cells="flat", reps=arguments.reps, tools="own", processes=count)
        rate = events_per_s(folder)
        first = first or rate
        print(f"{count} processes: {rate:,.0f} events/s, {rate / first:.2f} of the first")
    print(f"raw results: {out}")


if __name__ == "__main__":
    main()
