"""The installed environment of an engine with a venv of its own, or what is lacking, with the command."""

from collections.abc import Mapping
from typing import Any

from runners.environments import checking, records
from runners.environments.pins import EnginePin, engines_folder
from runners.environments.records import Environment
from runners.protocol.errors import EnvironmentLacks, Finding


def problem(spec: Mapping[str, Any], *, variant: str) -> str | None:
    """Why the pinned environment cannot be started; None if it can. ``variant`` is the one to install."""
    engine = spec["engine"]
    kind = str(engine["environment"]["kind"])
    if kind != "venv":
        return (
            f"engine.environment.kind is {kind}; {engine['key']} runs in an environment of its own. "
            "Set engine.environment.kind=venv"
        )
    found = find(engine)
    if found is None:
        return not_installed(engine, variant=variant)
    if (seen := checking.quick_problem(found)) is not None:
        remove = f"assay engines remove {found.pin.name}"
        return f"{found.pin.name}: {seen}. Run: {remove} && {found.pin.install_command}"
    return None


def find(engine: Mapping[str, Any]) -> Environment | None:
    return records.find(
        key=str(engine["key"]),
        version=str(engine["version"]),
        lock_sha256=engine["environment"]["lock_sha256"],
    )


def require(engine: Mapping[str, Any], *, variant: str) -> Environment:
    """Raises EnvironmentLacks where the pinned environment is not there."""
    found = find(engine)
    if found is None:
        seen, _, remedy = not_installed(engine, variant=variant).partition(". Run: ")
        raise EnvironmentLacks(
            Finding(
                field="engine.environment", seen=seen, allowed="the pinned engine", remedy=remedy
            )
        )
    return found


def not_installed(engine: Mapping[str, Any], *, variant: str) -> str:
    """Names what is pinned and what is there, so that a wrong version is told from a missing one."""
    key, version = str(engine["key"]), str(engine["version"])
    there = [e.pin.name for e in records.installed() if e.pin.key == key]
    pin = EnginePin(key=key, version=version, variant=variant)
    return (
        f"{key} {version} with lock {engine['environment']['lock_sha256']} is not installed below "
        f"{engines_folder()} (there: {', '.join(there) or 'none'}). Run: {pin.install_command}"
    )
