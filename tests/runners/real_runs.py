"""Prepare and execute a run of a shipped study with the real engine, as the platform would."""

import json
import subprocess
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.compose import compose
from experiments.plan import plan
from tests.runners.prepared import ROOT

RUNNERS = [sys.executable, "-m", "runners"]


def prepare(
    folder: Path,
    *overrides: str,
    study: str = "smollm2_smoke",
    price: Mapping[str, Any] | None = None,
) -> Path:
    """``price`` goes into the declaration, as a group file would; it is context and enters no digest."""
    [spec] = plan([compose([f"study={study}", *overrides])])
    document = spec.document
    document["device"]["price"] = price
    request = {
        "spec": document,
        "spec_digest": spec.digest,
        "context": {
            "run_id": str(uuid.uuid4()),
            "execution_id": str(uuid.uuid4()),
            "repetition": 0,
            "study": study,
            "token": "t",
            "artifact_roots": [],
            "secret_names": [],
        },
    }
    (folder / "request.json").write_text(json.dumps(request))
    out = folder / "out"
    done = subprocess.run(
        [*RUNNERS, "prepare", str(folder / "request.json"), str(out)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def execute(out: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*RUNNERS, "execute", str(out)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
