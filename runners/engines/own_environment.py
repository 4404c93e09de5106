"""The environment of an engine that does not run in Assay's own: a venv or an image, or what is lacking.

Either gives an interpreter, programs by name and the parser dump of its version; adapters need no more.
"""

from collections.abc import Mapping
from typing import Any

from runners.environments import checking, images, records
from runners.environments.images import InstalledImage
from runners.environments.pins import EnginePin, engines_folder
from runners.environments.records import Environment
from runners.protocol.errors import EnvironmentLacks, Finding

Installed = Environment | InstalledImage


def problem(spec: Mapping[str, Any], *, variant: str) -> str | None:
    """Why the pinned environment cannot be started; None if it can. ``variant`` is the venv to install."""
    engine = spec["engine"]
    kind = str(engine["environment"]["kind"])
    if kind not in ("venv", "container"):
        return (
            f"engine.environment.kind is {kind}; {engine['key']} runs in an environment of its own. "
            "Set engine.environment.kind=venv, or container"
        )
    found = find(engine)
    if found is None:
        return _not_installed(engine, variant=variant)
    if isinstance(found, InstalledImage):
        if (silence := images.unanswered(found)) is not None:
            return f"{found.pin.name}: {silence}. Run: docker info"
        seen = images.problem(found)
        again = (
            f"assay engines install {found.pin.key}=={found.pin.version} --image {found.reference}"
        )
    else:
        seen, again = checking.quick_problem(found), found.pin.install_command
    if seen is not None:
        return f"{found.pin.name}: {seen}. Run: assay engines remove {found.pin.name} && {again}"
    return None


def find(engine: Mapping[str, Any]) -> Installed | None:
    key, version, declared = str(engine["key"]), str(engine["version"]), engine["environment"]
    if declared["kind"] == "container":
        return images.find(key=key, version=version, digest=str(declared["image_digest"]))
    return records.find(key=key, version=version, lock_sha256=declared["lock_sha256"])


def require(engine: Mapping[str, Any], *, variant: str) -> Installed:
    """Raises EnvironmentLacks where the pinned environment is not there."""
    found = find(engine)
    if found is None:
        seen, _, remedy = _not_installed(engine, variant=variant).partition(". Run: ")
        raise EnvironmentLacks(
            Finding(
                field="engine.environment", seen=seen, allowed="the pinned engine", remedy=remedy
            )
        )
    return found


def _not_installed(engine: Mapping[str, Any], *, variant: str) -> str:
    """Names what is pinned and what is there, so that a wrong version is told from a missing one."""
    key, version, declared = str(engine["key"]), str(engine["version"]), engine["environment"]
    known: list[Installed] = [*records.installed(), *images.installed()]
    there = [e.pin.name for e in known if e.pin.key == key]
    if declared["kind"] == "container":
        reference = f"{declared['image']}@{declared['image_digest']}"
        pinned = f"{key} {version} in the image {reference}"
        command = f"assay engines install {key}=={version} --image {reference}"
    else:
        pinned = f"{key} {version} with lock {declared['lock_sha256']}"
        command = EnginePin(key=key, version=version, variant=variant).install_command
    return (
        f"{pinned} is not installed below {engines_folder()} (there: {', '.join(there) or 'none'}). "
        f"Run: {command}"
    )
