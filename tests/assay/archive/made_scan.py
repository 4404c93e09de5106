"""The made scan of ``tests.assay.analysis.scans`` as sealed and interpreted bundles of this host."""

import json
from pathlib import Path
from typing import Any

from assay.analysis.fitting.points import Step
from assay.analysis.step_spread import DECODE
from assay.archive.benchmarks import host_folder
from assay.archive.interpretation import interpret
from assay.archive.paths import Home
from assay.archive.scan_runs import ScanRun, scan_run
from runners.protocol import host, layout
from tests.assay.analysis import benchmarks, scans
from tests.assay.analysis.engine import EngineLog, part
from tests.assay.analysis.run_specs import spec
from tests.assay.archive import interpretable


def measured_host(home: Home) -> str:
    """Store the made micro-benchmark as this host's; its fingerprint."""
    folder = host_folder(home)
    folder.mkdir(parents=True)
    document = benchmarks.document() | {"fingerprint": folder.name}
    (folder / "20261101T000000Z.json").write_text(json.dumps(document))
    return folder.name


def cell_spec(cell: str) -> dict[str, Any]:
    batch, stored = scans.CELLS[cell]
    declared = spec(concurrency=batch) | {"contract": interpretable.spec()["contract"]}
    declared["engine"]["version"] = "2.13.0"
    declared["workload"] |= {"input_tokens": stored, "ignore_eos": True, "cases": []}
    return declared


def cells(home: Home, *, noise: float = 0.03) -> list[ScanRun]:
    """One bundle for each cell."""
    found = []
    for name in scans.CELLS:
        folder = home.root / "made" / name.replace(" ", "_").replace(",", "")
        build(folder, name, scans.steps(cells=[name], noise=noise))
        found.append(scan_run(folder, interpret(folder, home.derived, processors=1).parent))
    return found


def build(folder: Path, cell: str, steps: list[Step]) -> str:
    batch, _ = scans.CELLS[cell]
    names = [f"load-{n:04}.A1" for n in range(1, batch + 1)]
    others = [row for row in interpretable.attempts() if row["segment"] != "load"]
    load = next(row for row in interpretable.attempts() if row["segment"] == "load")
    plan = [row for row in interpretable.plan() if row["segment"] != "load"]
    requests = [name.removesuffix(".A1") for name in names]
    facts = {"fingerprint": host.fingerprint(host.describe()), "facts": {}, "gaps": []}
    disturbance = {"others_cores_mean": 0.05, "bound_cores": 0.2, "disturbed": False}
    return interpretable.build(
        folder,
        **{
            layout.SPEC: cell_spec(cell),
            layout.PLAN: [
                *plan,
                *({"request_id": r, "phase": "measure", "segment": "load"} for r in requests),
            ],
            layout.ATTEMPTS: [
                *others,
                *(
                    load | {"attempt_id": f"{r}.A1", "request_id": r, "task_id": f"T-{r}"}
                    for r in requests
                ),
            ],
            layout.CLOCKS: {
                "origin_ns": str(interpretable.ORIGIN_NS),
                "client_domain": interpretable.DOMAIN,
                "domains": [],
                "client_error": {"disturbance": disturbance},
            },
            layout.ENGINE_EVENTS: events(names, steps),
            "more": {layout.HOST: json.dumps(facts).encode()},
        },
    )


def events(names: list[str], steps: list[Step]) -> bytes:
    """Iterations alone: each step's requests with what they had stored, one after another."""
    log = EngineLog(interpretable.DOMAIN)
    log.add("memory", 1, process="loop", rss_bytes=1000, kv_bytes_allocated=8 * 16 * 46_080)
    at_ms = 310.0
    for number, step in enumerate(steps, start=1):
        shape = step.shape
        phase = "decode" if shape.phase == DECODE else "prefill"
        sampled = 1 if shape.phase == DECODE else shape.sampled
        parts = [
            part(name, shape.new, sampled, shape.stored + shape.new, phase=phase)
            for name in names[: shape.batch]
        ]
        log.step(at_ms, step.measured_s * 1e3, *parts, number=number)
        at_ms += step.measured_s * 1e3
    rows = [{**row, "t_ns": row["t_ns"] + interpretable.ORIGIN_NS} for row in log.rows]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)
