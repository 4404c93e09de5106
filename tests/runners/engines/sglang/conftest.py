"""A home for the tests of this folder in which SGLang's environment is installed, without its files."""

from pathlib import Path

import pytest

from runners.environments.records import Environment
from tests.runners.engines.sglang import declared


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    return declared.install(tmp_path / "home")
