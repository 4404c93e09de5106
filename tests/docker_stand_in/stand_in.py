"""Put the stand-in for docker on PATH for a test: its command, its engine and one image."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
IDENTIFIER = "sha256:" + "1d" * 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Docker:
    folder: Path
    command: Path


def image(
    reference: str, programs: Mapping[str, str], *, here: bool, **more: Any
) -> dict[str, Any]:
    """One image in the form that ``docker image inspect`` of 28.2 prints, as far as it is read here."""
    inspect = {
        "Id": IDENTIFIER,
        "RepoTags": [],
        "RepoDigests": [reference],
        "Parent": "",
        "Comment": "buildkit.dockerfile.v0",
        "Created": "2026-10-20T08:11:09.123456789Z",
        "DockerVersion": "",
        "Author": "",
        "Architecture": "amd64",
        "Os": "linux",
        "Size": 12874031102,
        "Metadata": {"LastTagTime": "0001-01-01T00:00:00Z"},
    }
    return {"here": here, "programs": dict(programs), "inspect": inspect | more}


@contextlib.contextmanager
def docker(folder: Path, images: Mapping[str, Any], patch: pytest.MonkeyPatch) -> Iterator[Docker]:
    folder.mkdir()
    (folder / "images.json").write_text(json.dumps(images))
    command = folder / "bin" / "docker"
    command.parent.mkdir()
    command.write_text(
        f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\nsys.path.insert(0, {str(ROOT)!r})\n"
        "from tests.docker_stand_in.command import main\n"
        f"sys.exit(main(Path({str(folder)!r}), sys.argv[1:]))\n"
    )
    command.chmod(0o755)
    patch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    with subprocess.Popen(
        [sys.executable, str(ROOT / "tests/docker_stand_in/daemon.py"), str(folder)],
        stdin=subprocess.PIPE,
    ) as engine:
        deadline = time.monotonic() + 10
        while not (folder / "socket").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        yield Docker(folder=folder, command=command)
        assert engine.stdin is not None
        engine.stdin.close()
