"""A run that is watched while it goes, so that something can happen to its engine at a chosen moment."""

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.engines_real import home
from tests.engines_real.home import Run


class Watched:
    """``assay run`` as a process; its progress lines are read as they come."""

    def __init__(self, *overrides: str) -> None:
        self._process = subprocess.Popen(
            home.command("run", *overrides, "--json"),
            env=home.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def until(self, stage: str) -> None:
        """Wait for the first line of a stage; fails if the run ends before it."""
        assert self._process.stderr is not None
        said = []
        for line in self._process.stderr:
            said.append(line)
            if line.startswith(stage):
                return
        pytest.fail(f"the run ended before {stage}: {''.join(said)}")

    def process(self, name: str, *, within_s: float) -> psutil.Process:
        """A process of the run whose name or command line holds ``name``, as soon as there is one."""
        found = next(_named(psutil.Process(self._process.pid), name, within_s=within_s), None)
        assert found is not None, f"no process {name} in {within_s} s"
        return found

    def result(self, *, within_s: float) -> Run:
        stdout, _ = self._process.communicate(timeout=within_s)
        return Run(said=json.loads(stdout), exit_code=self._process.returncode, home=home.folder())


def engines_of(folder: Path) -> list[int]:
    """Processes of the installed environments, whoever started them."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.exe() and str(folder / "engines") in " ".join(process.cmdline()):
                found.append(process.pid)
    return found


def _named(parent: psutil.Process, name: str, *, within_s: float) -> Iterator[psutil.Process]:
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        for process in parent.children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if name in process.name() or name in " ".join(process.cmdline()):
                    yield process
        time.sleep(0.2)
