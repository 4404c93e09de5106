"""The whole way of a runner with the real engine on the real model: prepare, execute, and being stopped."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest

from runners.evidence import processes
from runners.protocol import layout, manifest
from runners.protocol.documents import IDENTITY_ITEMS
from runners.protocol.workspace import json_lines
from tests.runners.prepared import ROOT, session_rows
from tests.runners.real_runs import RUNNERS, execute, prepare

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(600)]


def processes_of(out: Path) -> set[int]:
    context = json.loads((out / layout.CONTEXT).read_bytes())
    return processes.carrying(context["execution_id"])


@pytest.mark.req("7.14", "9.07")
def test_a_smoke_run_is_sealed_complete_and_leaves_no_process(tmp_path: Path) -> None:
    out = prepare(tmp_path)

    output, _ = execute(out).communicate(timeout=500)

    told = json.loads(output)
    assert told["state"] == "sealed", told
    assert manifest.verify(out / "bundle").bundle_digest == told["bundle_digest"]
    assert processes_of(out) == set()
    identity = json.loads((out / "bundle" / layout.IDENTITY).read_bytes())
    assert [item["item"] for item in identity["run"]] == list(IDENTITY_ITEMS)
    assert identity["complete"] is True, identity["missing"]
    cases = pl.read_parquet(out / "bundle" / layout.ATTEMPTS).drop_nulls("case")
    ends = dict(cases.select("case", "end").iter_rows())
    assert ends == {
        "short": "closed",
        "long_input": "closed",
        "long_output": "closed",
        "active_cancel": "cancel",
    }
    checks = {row["check"]: row for row in session_rows(out, "release_check")}
    assert checks["kv_blocks"]["state"] == "released"
    assert checks["processes"]["state"] == "released"
    assert (out / "bundle" / layout.TRACE_FOLDER).is_dir()


@pytest.mark.fault
@pytest.mark.parametrize("victim", ["interrupt", "kill_runner"])
def test_stopped_in_mid_run_nothing_is_left(tmp_path: Path, victim: str) -> None:
    out = prepare(tmp_path, "workload.output_tokens=1000")
    runner = execute(out)
    with runner:
        while not any(row["phase"] == "measure" for row in json_lines(out / layout.PROGRESS)):
            assert runner.poll() is None
            time.sleep(0.1)
        assert len(processes_of(out)) >= 3  # keeper, front end, model loop
        if victim == "interrupt":
            os.killpg(runner.pid, signal.SIGINT)
            output, _ = runner.communicate(timeout=60)
            told = json.loads(output)
        else:
            runner.kill()
            runner.wait()
            deadline = time.monotonic() + 30  # the engine's time to stop, and the keeper's patience
            while processes_of(out):
                assert time.monotonic() < deadline
                time.sleep(0.1)
            reaped = subprocess.run(
                [*RUNNERS, "reap", str(out)], cwd=ROOT, capture_output=True, text=True
            )
            told = json.loads(reaped.stdout)

    assert told["state"] == {"interrupt": "aborted", "kill_runner": "lost"}[victim]
    assert manifest.verify(out / "bundle").ok
    assert processes_of(out) == set()
