"""Assay's own settings over the fake runner, for processes that a test starts."""

import sys
from pathlib import Path

from assay.settings import *  # noqa: F403

_FAKES = Path(__file__).parent / "assay" / "execution"
RUNNER_COMMAND = [sys.executable, str(_FAKES / "fake_runner.py")]
INTERPRETER_COMMAND = [sys.executable, str(_FAKES / "fake_interpreter.py")]
