"""Runs under random faults: each ends once, nothing is half, left or lost. Long with ASSAY_SOAK."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stacks import CHECKOUT

IS_LONG = "ASSAY_SOAK" in os.environ
RUNS, FAULT_EVERY_S, LIMIT_S = (200, 4.0, 1800) if IS_LONG else (10, 2.0, 200)

pytestmark = [
    pytest.mark.fault,
    pytest.mark.slow,
    pytest.mark.postgres,
    pytest.mark.redis,
    pytest.mark.timeout(LIMIT_S + 30),
]


def test_every_run_ends_once_whatever_happens_to_its_platform(tmp_path: Path) -> None:
    command = ["--runs", str(RUNS), "--seed", "7", "--fault-every-s", str(FAULT_EVERY_S)]

    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.soak", str(tmp_path), *command],
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONPATH": f"{CHECKOUT / 'platform'}:{CHECKOUT}"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )

    assert done.stdout, done.stderr[-4000:]
    found = json.loads(done.stdout)
    assert found["runs"] == sum(found["states"].values()) == RUNS
    assert {what: n for what, n in found["left"].items() if n} == {}
    assert sum(found["faults"].values()) >= 1
