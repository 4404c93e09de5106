"""Note down a container image for an engine: pulled by digest where it is not there, and asked what it holds.

It is asked without network, privileges or a writable root. Whole or not at all, as an environment's
installation is.
"""

import json
import os
import re
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from runners.environments import docker, images, parsers
from runners.environments.docker import DockerProblem
from runners.environments.images import InstalledImage
from runners.environments.installing import DUMP_SCRIPT, Tell
from runners.environments.pins import EnginePin, engines_folder, refused
from runners.environments.records import PARSER
from runners.protocol.errors import EnvironmentLacks, Finding

_REFERENCE = re.compile(r"(?P<repository>[^@\s]+)@(?P<digest>sha256:[0-9a-f]{64})")
_PULL_S, _DUMP_S = 3600.0, 300.0
_LIST = (
    "import importlib.metadata as m, json, platform;"
    "print(json.dumps({'python': platform.python_version(), 'packages': "
    "{d.metadata['Name']: d.version for d in m.distributions() if d.metadata['Name']}}))"
)


def install(request: str, reference: str, *, tell: Tell) -> InstalledImage:
    """``KEY==VERSION`` in the image ``REPOSITORY@sha256:DIGEST``. One that is noted already is returned.

    Raises Refused for a tag or for another version inside, EnvironmentLacks when docker cannot give it.
    """
    asked = EnginePin.parse(request, "image")
    match = _REFERENCE.fullmatch(reference)
    if match is None or ":" in match["repository"].rpartition("/")[2]:
        tagged = reference.partition("@")[0]
        raise refused(
            "image",
            reference,
            "REPOSITORY@sha256:DIGEST, without a tag",
            f"A tag can move; pin what it names now: docker pull {tagged}, then "
            f"docker image inspect --format '{{{{json .RepoDigests}}}}' {tagged}",
        )
    pin = images.pin_of(asked.key, asked.version, match["digest"])
    if (known := images.read(engines_folder() / pin.name)) is not None:
        return known
    if (cli := docker.program()) is None:
        raise _lacks(images.NO_DOCKER, "the docker command, with an engine behind it")
    try:
        return _noted(cli, pin, reference, tell)
    except DockerProblem as problem:
        raise _lacks(str(problem), f"docker with the image {reference}") from problem


def _noted(cli: str, pin: EnginePin, reference: str, tell: Tell) -> InstalledImage:
    seen = docker.image(cli, reference)
    if is_pulled := seen is None:
        tell(f"{pin.name}: pulling {reference}")
        docker.ask(cli, ["pull", "--quiet", reference], timeout_s=_PULL_S)
        seen = docker.image(cli, reference)
    digest = reference.rpartition("@")[2]
    if seen is None or not seen.is_pinned_by(digest):
        named = "no such image" if seen is None else ", ".join(seen.repo_digests) or "no digest"
        raise DockerProblem(f"after the pull docker shows {named} for {reference}")
    target = engines_folder() / pin.name
    building = target.parent / f".{pin.name}.{os.getpid()}"
    building.mkdir(parents=True)
    try:
        tell(f"{pin.name}: asking the engine in it for its version and flags")
        build = _dump(cli, pin, reference, building)
        listed = json.loads(_inside(cli, pin, reference, ["-I", "-c", _LIST]))
        made = InstalledImage(
            folder=building,
            pin=pin,
            reference=reference,
            identifier=seen.identifier,
            architecture=seen.architecture,
            build=build,
            python=str(listed["python"]),
            packages=dict(listed["packages"]),
            installed_at=datetime.now(UTC).isoformat(timespec="seconds"),
            is_pulled=is_pulled,
        )
        images.write(made, building)
        building.rename(target)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    noted = images.read(target)
    assert noted is not None
    return noted


def _dump(cli: str, pin: EnginePin, reference: str, into: Path) -> str | None:
    """Write the parser dump of the engine inside; its build. Raises Refused for another version."""
    said = _inside(cli, pin, reference, ["-I", str(pin.adapter_folder / DUMP_SCRIPT)])
    dump = parsers.printed_dump(said)
    if dump["version"] != pin.version:
        raise refused(
            "engine",
            f"{reference} holds version {dump['version']}",
            pin.version,
            "Pin what the image holds, or give the image of the pinned version.",
        )
    (into / PARSER).write_text(json.dumps(dump, indent=1) + "\n", encoding="utf-8")
    build: str | None = dump["build"]
    return build


def _inside(cli: str, pin: EnginePin, reference: str, arguments: Sequence[str]) -> str:
    name = f"assay-ask-{pin.name}-{os.getpid()}"
    folder = pin.adapter_folder
    command = [
        *("run", "--rm", "--pull", "never", "--name", name, "--network", "none"),
        *("--user", f"{os.getuid()}:{os.getgid()}", "--read-only", "--tmpfs", "/tmp:mode=1777"),
        *("--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--env", "HOME=/tmp"),
        *("--mount", f'type=bind,"source={folder}","target={folder}",readonly'),
        *("--entrypoint", images.INTERPRETER, reference, *arguments),
    ]
    try:
        return docker.ask(cli, command, timeout_s=_DUMP_S)
    except DockerProblem:
        _remove(cli, name)
        raise


def _remove(cli: str, name: str) -> None:
    """A container whose command line was given up on lives on; one that ended took itself away."""
    try:
        if docker.container(cli, name) is not None:
            docker.ask(cli, ["rm", "--force", name])
    except DockerProblem:
        return


def remove(image: InstalledImage) -> None:
    """The note, and docker's image if it was pulled for it. Raises EnvironmentLacks if docker keeps it."""
    cli = docker.program()
    if image.is_pulled and cli is not None:
        try:
            if docker.image(cli, image.reference) is not None:
                docker.ask(cli, ["image", "rm", image.reference])
        except DockerProblem as problem:
            raise _lacks(str(problem), "an image that no container uses") from problem
    shutil.rmtree(image.folder)


def _lacks(seen: str, allowed: str) -> EnvironmentLacks:
    return EnvironmentLacks(
        Finding(
            field="engine.environment.image",
            seen=seen,
            allowed=allowed,
            remedy="Nothing was left behind: do it again once that is there (docker version; docker info).",
        )
    )
