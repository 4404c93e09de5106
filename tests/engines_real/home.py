"""The home in which ``make test-engines`` installed the engines, and runs made in it."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from assay.archive.paths import PYTHON_PATH


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What ``assay run --json`` said, with the sealed bundle and what was derived from it."""

    said: dict[str, Any]
    exit_code: int
    home: Path

    @property
    def bundle(self) -> Path:
        return Path(self.said["bundle"])

    def document(self, name: str) -> Any:
        return json.loads((self.bundle / name).read_bytes())

    def lines(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.bundle / name).read_text().splitlines()]

    def table(self, name: str) -> list[dict[str, Any]]:
        return list(pq.read_table(self.bundle / name).to_pylist())

    def interpretation(self) -> dict[str, Any]:
        (path,) = (self.home / "derived" / self.said["bundle_digest"]).glob("*/interpretation.json")
        found: dict[str, Any] = json.loads(path.read_bytes())
        return found

    def derived(self, name: str) -> list[dict[str, Any]]:
        (path,) = (self.home / "derived" / self.said["bundle_digest"]).glob(f"*/{name}")
        return list(pq.read_table(path).to_pylist())


def environment() -> dict[str, str]:
    """A run as a person starts one: not with the tests' own settings and home."""
    return {
        **os.environ,
        "PYTHONPATH": PYTHON_PATH,
        "ASSAY_HOME": str(folder()),
        "DJANGO_SETTINGS_MODULE": "assay.settings",
    }


def folder() -> Path:
    """Fails, and says what to do, where the engines are not installed: these tests never skip."""
    home = os.environ.get("ENGINES_HOME")
    assert home, "run these tests by `make test-engines`: they need engines that it installs"
    return Path(home)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "assay.cli.main", *arguments]


def assay_run(*overrides: str, timeout_s: float) -> Run:
    home = folder()
    subprocess.run(command("migrate"), env=environment(), capture_output=True, check=True)
    done = subprocess.run(
        command("run", *overrides, "--json"),
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
        timeout=timeout_s,
    )
    return Run(said=json.loads(done.stdout), exit_code=done.returncode, home=home)
