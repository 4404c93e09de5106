"""One real bundle of the echo engine, sealed once and copied by whoever wants to damage it."""

import shutil
from pathlib import Path

import pytest

from tests.runners import prepared


@pytest.fixture(scope="session")
def sealed_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The working folder of a run that went well. Not to be changed."""
    out = prepared.prepare(tmp_path_factory.mktemp("echo") / "run")
    prepared.predict(out)
    code, result, errors = prepared.run("execute", out)
    assert (code, result["state"]) == (0, "sealed"), errors
    return out


@pytest.fixture
def sealed_bundle(sealed_once: Path, tmp_path: Path) -> Path:
    """A copy of the sealed bundle, writable."""
    copy = tmp_path / "bundle"
    shutil.copytree(sealed_once / "bundle", copy)
    for path in copy.rglob("*"):
        if path.is_file():
            path.chmod(0o644)
    return copy
