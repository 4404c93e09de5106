"""The packages of the environments that took part, with the hash of each list."""

import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

_LIST = (
    "import importlib.metadata as m, json, platform, sys;"
    "print(json.dumps({'python': platform.python_version(), 'packages': sorted("
    "[d.metadata['Name'], d.version] for d in m.distributions() if d.metadata['Name'])}))"
)


class PackageEnvironment(TypedDict):
    """``sha256`` is over the lines ``name==version`` sorted by name, each ended by a newline."""

    role: str  # client | engine
    interpreter: str
    python: str | None
    packages: dict[str, str]
    sha256: str | None
    reason: str | None


def of_client() -> PackageEnvironment:
    """The environment that this process runs in."""
    found = dict(map(_name_and_version, importlib.metadata.distributions()))
    found.pop("", None)  # the remains of a package: no name, nothing installed
    return _environment("client", sys.executable, platform.python_version(), found)


def of_engine(command: list[str], environment: Mapping[str, str]) -> PackageEnvironment:
    """The environment of the engine's own interpreter, asked by running it; null if it is no Python."""
    interpreter = command[0]
    if Path(interpreter).name.startswith("python"):
        if _same(interpreter, sys.executable):
            return {**of_client(), "role": "engine"}
        try:
            done = subprocess.run(
                [interpreter, "-c", _LIST],
                env={**environment},
                capture_output=True,
                timeout=30,
                check=True,
            )
            listed = json.loads(done.stdout)
            return _environment("engine", interpreter, listed["python"], dict(listed["packages"]))
        except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
            return _unknown(interpreter, f"asking the interpreter failed: {error}")
    return _unknown(interpreter, "the engine's command is no Python interpreter")


def of_image(reference: str, python: str, packages: dict[str, str]) -> PackageEnvironment:
    """What was listed inside a container image when it was noted down: its digest does not move."""
    return _environment("engine", reference, python, packages)


def _name_and_version(distribution: importlib.metadata.Distribution) -> tuple[str, str]:
    """From the head of the metadata. To parse all of it as a message takes twenty times as long."""
    head = (distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or "").split(
        "\n\n", 1
    )[0]
    fields = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
    return fields.get("Name", ""), fields.get("Version", "")


def _same(first: str, second: str) -> bool:
    # the paths as they are, not resolved: the python of a venv links to the one it was made from
    return os.path.abspath(first) == os.path.abspath(second)  # noqa: PTH100


def _unknown(interpreter: str, reason: str) -> PackageEnvironment:
    return PackageEnvironment(
        role="engine",
        interpreter=interpreter,
        python=None,
        packages={},
        sha256=None,
        reason=reason,
    )


def _environment(
    role: str, interpreter: str, python: str, packages: dict[str, str]
) -> PackageEnvironment:
    ordered = dict(sorted(packages.items(), key=lambda item: item[0].lower()))
    lines = "".join(f"{name}=={version}\n" for name, version in ordered.items())
    return PackageEnvironment(
        role=role,
        interpreter=interpreter,
        python=python,
        packages=ordered,
        sha256=hashlib.sha256(lines.encode()).hexdigest(),
        reason=None,
    )
