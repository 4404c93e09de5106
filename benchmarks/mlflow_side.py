"""MLflow's server with as many runs: filled through its own tables, asked as its pages ask it.

Run by ``benchmarks/pages.py`` with ``--mlflow-python``; MLflow has an environment of its own, where the part
below ``if __name__`` runs.
"""

import json
import os
import random
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from pathlib import Path
from typing import Any

SEARCH = "/ajax-api/2.0/mlflow/runs/search"  # what its pages call
RUN = "/ajax-api/2.0/mlflow/runs/get"
COMPARED = 4
NEWEST = ["attributes.start_time DESC"]
PAGE_ROWS = 25
AS_JSON = {"Content-Type": "application/json"}
METRICS_FILE = "numbers.json"


def beside(python: Path, home: Path, *, runs: int, requests: int) -> list[Any]:
    """The same questions to MLflow, under the names of the pages that ask them here."""
    from pages import asking, timed, wait_for

    folder = home / "mlflow"
    folder.mkdir(exist_ok=True)
    store = f"sqlite:///{folder / 'mlflow.db'}"
    (folder / METRICS_FILE).write_text(json.dumps(_numbers()), encoding="utf-8")
    subprocess.run([python, __file__, store, str(folder), str(runs)], check=True, cwd=folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        python, "-m", "mlflow", "server", "--backend-store-uri", store, "--host", "127.0.0.1",
        "--port", str(port), "--workers", "1", "--artifacts-destination", str(folder / "artifacts"),
    ]  # fmt: skip
    quiet = os.environ | {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
    for name in ("PYTHONPATH", "DJANGO_SETTINGS_MODULE"):
        quiet.pop(name, None)
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(command, env=quiet, cwd=folder, stdout=log, stderr=log)
    try:
        wait_for(port, "/health", server)
        found = [
            timed(name, asking(port, SEARCH, AS_JSON, body=_search(filter_string, order)), requests)
            for name, (filter_string, order) in _questions().items()
        ]
        each = [asking(port, f"{RUN}?run_id={run}", {}) for run in _newest(port)]
        return [
            *found,
            timed("run overview", each[0], requests),
            # its comparison asks for each run by itself; here one after the other
            timed("compare", lambda: sum(ask() for ask in each), requests),
        ]
    finally:
        server.terminate()
        server.wait(30)


def _newest(port: int) -> list[str]:
    body = json.dumps({"experiment_ids": ["0"], "order_by": NEWEST, "max_results": COMPARED})
    url = f"http://127.0.0.1:{port}{SEARCH}"
    with urllib.request.urlopen(urllib.request.Request(url, body.encode(), AS_JSON)) as answer:
        return [run["info"]["run_id"] for run in json.load(answer)["runs"]]


def _questions() -> dict[str, tuple[str, list[str]]]:
    fast = "metrics.`ttft.first_content.client p99` < 0.5"
    return {
        "runs": ("", NEWEST),
        "runs by a number": ("", ["metrics.`ttft.first_content.client p50` ASC"]),
        "runs filtered": ("params.engine = 'vllm' and tags.tag = 'nightly'", NEWEST),
        "runs by text": ("params.model ILIKE '%qwen3%'", NEWEST),
        "runs by metric": (f"{fast} and metrics.`throughput.output_tokens rate` > 1", NEWEST),
    }


def _search(filter_string: str, order: list[str]) -> str:
    return json.dumps(
        {
            "experiment_ids": ["0"],
            "filter": filter_string,
            "order_by": order,
            "max_results": PAGE_ROWS,
            "run_view_type": "ACTIVE_ONLY",
        }
    )


def _numbers() -> dict[str, float]:
    """What the first run shows: every other one shows the same rules, here and there."""
    from page_home import LARGE

    from assay.ledger.models import ShownMeasure

    shown = ShownMeasure.objects.filter(run__study__name=LARGE, run__position=0)
    return {f"{s.rule} {s.statistic}".replace("/", "_"): s.value for s in shown}


def _fill(store: str, folder: Path, runs: int) -> None:
    """In MLflow's environment: rows of its own models, as its store writes them."""
    from mlflow.store.tracking.dbmodels import models
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    numbers: dict[str, float] = json.loads((folder / METRICS_FILE).read_text(encoding="utf-8"))
    rng = random.Random(runs)
    tracking = SqlAlchemyStore(store, str(folder / "artifacts"))
    with tracking.ManagedSessionMaker() as session:
        have = session.query(models.SqlRun).count()
    now = int(time.time() * 1000)
    for at in range(have, runs, 250):
        rows: dict[Any, list[dict[str, Any]]] = {}
        for n in range(at, min(at + 250, runs)):
            _one(rows, models, numbers, rng, started=now - (runs - n) * 1_200_000)
        with tracking.ManagedSessionMaker() as session:
            for model, found in rows.items():
                session.bulk_insert_mappings(model, found)
    print(f"MLflow holds {runs:,} runs with {len(numbers)} numbers each", flush=True)


def _one(rows: Any, models: Any, numbers: Any, rng: random.Random, *, started: int) -> None:
    run, scale = uuid.UUID(int=rng.getrandbits(128)).hex, 0.5 + rng.random()
    rows.setdefault(models.SqlRun, []).append(
        {"run_uuid": run, "name": f"nightly-{run[:6]}", "source_type": "LOCAL", "user_id": "ada",
         "status": "FINISHED", "start_time": started, "end_time": started + 90_000,
         "lifecycle_stage": "active", "artifact_uri": f"mlflow-artifacts:/0/{run}/artifacts",
         "experiment_id": 0}
    )  # fmt: skip
    for name, value in numbers.items():
        number = {"key": name, "value": value * scale, "timestamp": started, "step": 0,
                  "is_nan": False, "run_uuid": run}  # fmt: skip
        rows.setdefault(models.SqlMetric, []).append(number)
        rows.setdefault(models.SqlLatestMetric, []).append(number)
    said = {"engine": rng.choice(("torch", "vllm", "sglang")), "device": "cpu-2core",
            "model": rng.choice(("SmolLM2-135M", "Qwen3-8B", "DeepSeek-V3.2"))}  # fmt: skip
    for key, text in said.items():
        rows.setdefault(models.SqlParam, []).append({"key": key, "value": text, "run_uuid": run})
    tag = {"key": "tag", "value": rng.choice(("nightly", "smoke", "release")), "run_uuid": run}
    rows.setdefault(models.SqlTag, []).append(tag)


if __name__ == "__main__":
    _fill(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
