"""On the real thing: a torch engine that is slowed on purpose is found by a scheduled run, end to end."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.stacks import CHECKOUT, Stack

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.soak, pytest.mark.timeout(1200)]

DELAY = "engine.settings.injected_delay_s"
STUDY = "study=smollm2_regression"
# One reading of the host in a measured phase this short says nothing of others; then nobody looks at all.
QUIETLY = "evidence.telemetry_interval_s=60"
TPOT, RATE = "tpot.last_token p50", "throughput.output_tokens rate"


@pytest.fixture
def stack(tmp_path: Path) -> Stack:
    (tmp_path / "home").mkdir()
    return Stack(home=tmp_path / "home", variables={"ASSAY_LEASE_S": "120"})


def said(stack: Stack, *arguments: str, code: int = 0) -> dict[str, Any]:
    done = stack.assay(*arguments, "--json", timeout=900)
    assert done.returncode == code, done.stdout + done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_slowed_engine_is_found_by_a_scheduled_run(stack: Stack, tmp_path: Path) -> None:
    said(
        stack, "schedule", "add", "nightly", STUDY, QUIETLY,
        "--cron", "* * * * *", "--variable", DELAY, "--against", "approved",
        "--watch", "tpot.last_token:p50:less", "--watch", "throughput.output_tokens:rate:more",
        "--watch", "outputs.token_ids:equal",
    )  # fmt: skip
    steady = said(stack, "regress", "--study", "smollm2_regression", "--starts", "12", code=1)
    signed = said(stack, "schedule", "approve", "nightly", "--reason", "as it was released")
    said(stack, "schedule", "change", "nightly", STUDY, QUIETLY, f"{DELAY}=0.3")

    page = tmp_path / "finding.html"
    ticked = subprocess.run(
        [sys.executable, "-m", "tests.assay.regressions.ticking", str(page)],
        cwd=CHECKOUT, env=stack.environment, capture_output=True, text=True, timeout=600,
    )  # fmt: skip

    assert ticked.returncode == 0, ticked.stdout + ticked.stderr[-2000:]
    # the deterministic check of the twelve: the first has nothing to be compared with, the others are equal
    tokens = [a["answer"] for a in steady["answers"] if a["metric"] == "outputs.token_ids equal"]
    assert tokens == ["insufficient", *["ok"] * 11]
    assert [row["metric"] for row in signed["schedules"][0]["signed"]] == [TPOT, RATE]
    (found,) = said(stack, "finding", "list")["findings"]
    moved = {m["metric"]: m["change"] for m in found["metrics"]}
    assert set(moved) == {TPOT, RATE}  # one finding for what moved together
    assert moved[TPOT] > 0.5
    assert {f["field"]: f["after"] for f in found["identity"]}[DELAY] == 0.3
    # who may take it for a normal run? nobody: its identity and its grade say so
    shown = said(stack, "show", found["run"])
    assert "modified engine: a declared delay of 0.3 s" in shown["grade"]["reasons"][0]
    text = page.read_text()
    assert DELAY in text
    assert "ran.engine_version.modified" in text

    file = tmp_path / "answers.xml"
    judged = said(stack, "regress", "nightly", "--starts", "0", "--junit", str(file), code=1)
    assert {a["metric"]: a["answer"] for a in judged["answers"]}[TPOT] == "confirmed"
    failed = [
        c.get("name")
        for c in ET.parse(file).getroot().iter("testcase")
        if c.find("failure") is not None
    ]
    assert TPOT in failed
