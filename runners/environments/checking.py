"""Is an installed environment still what its lock says? And how one is taken away."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass

from runners.environments import locks, records
from runners.environments.pins import engines_folder
from runners.environments.records import Environment
from runners.protocol.errors import Refused

_ASK_S = 60
_LIST = (
    "import importlib.metadata as m, json;"
    "print(json.dumps([[d.metadata['Name'], d.version] for d in m.distributions()]))"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """``problems`` is empty for an environment that is what it was pinned to be."""

    environment: Environment
    problems: tuple[str, ...]


def quick_problem(environment: Environment) -> str | None:
    """What can be seen without running anything: lock, interpreter and the installers' file lists."""
    try:
        lock = locks.read(environment.lock)
    except Refused as error:
        return str(error)
    if lock.sha256 != environment.lock_sha256:
        return f"its lock.txt has sha256 {lock.sha256}, it was made from {environment.lock_sha256}"
    if not environment.interpreter.exists():
        return f"{environment.interpreter} is not there"
    seen = records.files_digest(environment.folder)
    if seen != environment.files_sha256:
        return (
            "distributions were added, removed or changed since it was made "
            f"(their file lists have sha256 {seen}, then {environment.files_sha256})"
        )
    return None


def check(environment: Environment) -> Checked:
    """The quick look, and each distribution's version asked of the environment's own interpreter."""
    problems = [problem] if (problem := quick_problem(environment)) else []
    if environment.lock.is_file() and environment.interpreter.exists():
        problems += _differences(environment)
    return Checked(environment=environment, problems=tuple(problems))


def _differences(environment: Environment) -> list[str]:
    try:
        done = subprocess.run(
            [str(environment.interpreter), "-I", "-c", _LIST],
            capture_output=True,
            text=True,
            timeout=_ASK_S,
            check=True,
            env={**os.environ},
        )
        found = {locks.normalised(name): version for name, version in json.loads(done.stdout)}
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        return [f"its interpreter does not answer: {error}"]
    wanted = locks.read(environment.lock).distributions
    strange = set(found) - set(wanted)
    return [
        f"{name} {found.get(name, 'is missing')}, the lock says {version}"
        for name, version in sorted(wanted.items())
        if found.get(name) != version
    ] + [f"{name} {found[name]} is in no lock" for name in sorted(strange)]


def remove(environment: Environment) -> None:
    """Take an environment away. It is renamed first, so that no half of it is ever found."""
    doomed = engines_folder() / f".{environment.pin.name}.{os.getpid()}"
    environment.folder.rename(doomed)
    shutil.rmtree(doomed)
