"""Verbs that are the runner's own: called as a process of its own, since no engine code is loaded here."""

import os
import subprocess
import sys
from collections.abc import Sequence

from assay.archive.paths import PYTHON_PATH
from assay.cli.exits import DONE, FAILED


def call(arguments: Sequence[str], *, as_json: bool) -> int:
    """Its exit code. What it says on stdout is passed on; a refusal's JSON only to who asked for JSON."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "runners", *arguments],
        env={**os.environ, "PYTHONPATH": PYTHON_PATH},
        stdout=subprocess.PIPE,
        text=True,
    )
    if as_json or done.returncode in (DONE, FAILED):
        sys.stdout.write(done.stdout)
    return done.returncode
