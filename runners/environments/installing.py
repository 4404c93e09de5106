"""Make an engine's environment from its lock: a venv of its own, whole or not at all.

It is built under a name that begins with a dot and carries the builder's pid, checked, and then renamed. What
an interrupted build left is swept by the next one. Nothing is installed into Assay's own environment.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runners.environments import parsers, records
from runners.environments.locks import Lock
from runners.environments.pins import EnginePin, engines_folder, refused
from runners.environments.records import Environment
from runners.protocol.errors import EnvironmentLacks, Finding

Tell = Callable[[str], None]
DUMP_SCRIPT = "dump_parser.py"
_INSTALL_S, _DUMP_S = 1800, 300


def install(pin: EnginePin, lock: Lock, *, tell: Tell) -> Environment:
    """The environment of this pin; one that is there already is returned if its lock is the same.

    Raises Refused for another lock under the same name, EnvironmentLacks when it cannot be made.
    """
    target = engines_folder() / pin.name
    if (known := records.read(target)) is not None:
        return _same(known, lock)
    target.parent.mkdir(parents=True, exist_ok=True)
    _sweep(target.parent)
    building = target.parent / f".{pin.name}.{os.getpid()}"
    try:
        _build(building, pin, lock, tell)
        _move_scripts(building, target)
        building.rename(target)
    except OSError as error:
        if (made := records.read(target)) is None:
            raise _lacks(f"{target}: {error}", "a folder to write, with room for it") from error
        return _same(made, lock)  # another installer was first
    finally:
        shutil.rmtree(building, ignore_errors=True)
    made = records.read(target)
    assert made is not None
    return made


def _same(known: Environment, lock: Lock) -> Environment:
    if known.lock_sha256 != lock.sha256:
        raise refused(
            "engine",
            f"{known.pin.name} is installed from lock {known.lock_sha256}",
            f"lock {lock.sha256}",
            f"Remove it first: assay engines remove {known.pin.name}",
        )
    return known


def _build(folder: Path, pin: EnginePin, lock: Lock, tell: Tell) -> None:
    tell(f"{pin.name}: making the environment")
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)], "a venv", timeout_s=300)
    python = str(folder / "bin" / "python")
    tell(f"{pin.name}: installing {len(lock.distributions)} distributions from {lock.path.name}")
    pip = [sys.executable, "-m", "pip", "--python", python]  # ours: what lies there is the lock's
    command = [*pip, "install", "--quiet", "--no-deps", "--no-compile"]
    only_wheels = ["--only-binary", ":all:", "--disable-pip-version-check"]
    _run(
        [*command, *only_wheels, "--require-hashes", "-r", str(lock.path)],
        "every distribution of the lock, with its sha256 (torch's CPU builds are on an index of their own: "
        "PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu)",
        timeout_s=_INSTALL_S,
    )
    shutil.copyfile(lock.path, folder / records.LOCK)
    tell(f"{pin.name}: asking the installed version for its flags")
    dump = _dump(python, pin)
    if dump["version"] != pin.version:
        raise refused(
            "engine",
            f"the lock installs version {dump['version']}",
            pin.version,
            "Pin what the lock installs, or give the lock of the pinned version.",
        )
    (folder / records.PARSER).write_text(json.dumps(dump, indent=1) + "\n", encoding="utf-8")
    version = sys.version_info
    records.write(
        Environment(
            folder=folder,
            pin=pin,
            lock_sha256=lock.sha256,
            build=dump["build"],
            python=f"{version.major}.{version.minor}.{version.micro}",
            installed_at=datetime.now(UTC).isoformat(timespec="seconds"),
            files_sha256=records.files_digest(folder),
        ),
        folder,
    )


def _dump(python: str, pin: EnginePin) -> dict[str, Any]:
    """Run the adapter's own script with the environment's interpreter: no engine code is loaded here."""
    script = pin.adapter_folder / DUMP_SCRIPT
    done = _run([python, "-I", str(script)], "a parser that can be read", timeout_s=_DUMP_S)
    return parsers.printed_dump(done)


def _run(command: Sequence[str], allowed: str, *, timeout_s: float) -> str:
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, env=environment, check=True
        )
    except subprocess.CalledProcessError as error:
        words = " | ".join(error.stderr.strip().splitlines()[-4:])
        raise _lacks(f"{command[0]} ended with {error.returncode}: {words}", allowed) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _lacks(f"{command[0]}: {error}", allowed) from error
    return done.stdout


def _move_scripts(building: Path, target: Path) -> None:
    """Scripts name their interpreter by its path; the folder is about to be renamed."""
    old, new = str(building).encode(), str(target).encode()
    for path in (building / "bin").iterdir():
        if path.is_symlink() or not path.is_file():
            continue
        data = path.read_bytes()
        if data.startswith(b"#!") and old in data:
            path.write_bytes(data.replace(old, new))


def _sweep(folder: Path) -> None:
    """Remove what builders that no longer live left behind."""
    for path in folder.glob(".*-*.*"):
        pid = path.name.rpartition(".")[2]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            with contextlib.suppress(OSError):
                shutil.rmtree(path)


def _lacks(seen: str, allowed: str) -> EnvironmentLacks:
    return EnvironmentLacks(
        Finding(
            field="engine.environment",
            seen=seen,
            allowed=allowed,
            remedy="Nothing was left behind: install it again once that is there.",
        )
    )
