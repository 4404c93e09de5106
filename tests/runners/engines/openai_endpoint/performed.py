"""Carry out a declaration as ``assay load`` has it done: prepare and execute, in a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.identity import spec_digest
from runners.protocol.workspace import json_lines

ROOT = Path(__file__).resolve().parents[4]


@dataclass(frozen=True, slots=True, kw_only=True)
class Performed:
    code: int
    answer: dict[str, Any]
    out: Path
    errors: str

    @property
    def bundle(self) -> Path:
        return self.out / "bundle"

    def document(self, name: str) -> Any:
        return json.loads((self.bundle / name).read_bytes())

    def rows(self, event: str) -> list[dict[str, Any]]:
        return [r for r in json_lines(self.bundle / "session.jsonl") if r["event"] == event]


def start(
    spec: Mapping[str, Any],
    folder: Path,
    *,
    environment: Mapping[str, str] | None = None,
    secret_names: tuple[str, ...] = (),
    roots: tuple[Path, ...] = (),
) -> subprocess.Popen[str]:
    request = {
        "spec": spec,
        "spec_digest": spec_digest(spec),
        "context": {
            "run_id": "0197a000-0000-7000-8000-000000000001",
            "execution_id": "0197a000-0000-7000-8000-000000000002",
            "repetition": 0,
            "study": "quick_look",
            "token": "",
            "artifact_roots": [str(root) for root in roots],
            "secret_names": list(secret_names),
        },
    }
    path = folder / "request.json"
    path.write_text(json.dumps(request), encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, "-m", "runners", "perform", str(path), str(folder / "out")],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str], folder: Path) -> Performed:
    stdout, errors = process.communicate(timeout=90)
    lines = stdout.splitlines()
    return Performed(
        code=process.returncode,
        answer=json.loads(lines[-1]) if lines else {},
        out=folder / "out",
        errors=errors,
    )


def perform(spec: Mapping[str, Any], folder: Path, **more: Any) -> Performed:
    return ended(start(spec, folder, **more), folder)
