"""Container images that engines run in: pinned by digest, noted down beside the installed environments.

What is noted was asked of the image once: version and build of its engine, its flags, its distributions. A
digest does not move, so that holds for every run of it. The image itself stays docker's.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from runners.environments import docker, notes
from runners.environments.pins import EnginePin
from runners.environments.records import PARSER

RECORD = "image.json"
INTERPRETER = "python3"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledImage:
    """``reference`` is REPOSITORY@sha256:DIGEST; ``is_pulled``: it was not there before it was installed."""

    folder: Path
    pin: EnginePin
    reference: str
    identifier: str
    architecture: str
    build: str | None
    python: str
    packages: dict[str, str]
    installed_at: str
    is_pulled: bool

    @property
    def interpreter(self) -> str:
        return INTERPRETER

    @property
    def parser(self) -> Path:
        return self.folder / PARSER

    @property
    def digest(self) -> str:
        return self.reference.rpartition("@")[2]

    def program(self, name: str) -> str:
        return name  # on the image's own PATH

    def document(self) -> dict[str, Any]:
        short = {k: v for k, v in asdict(self).items() if k != "packages"}
        return {
            **short,
            "folder": str(self.folder),
            "name": self.pin.name,
            "distributions": len(self.packages),
        }


def pin_of(key: str, version: str, digest: str) -> EnginePin:
    """``vllm-0.33.0-image.0123456789ab``: one version may be installed as several images."""
    return EnginePin(key=key, version=version, variant=f"image.{digest.rpartition(':')[2][:12]}")


def write(image: InstalledImage, into: Path) -> None:
    notes.write(image, into / RECORD)


def read(folder: Path) -> InstalledImage | None:
    """The image that this folder notes; None if there is no readable note of one."""
    return notes.read(InstalledImage, folder / RECORD)


def installed() -> Iterator[InstalledImage]:
    """Every noted image, by name."""
    return notes.installed(read)


def find(*, key: str, version: str, digest: str) -> InstalledImage | None:
    return next(
        (
            image
            for image in installed()
            if (image.pin.key, image.pin.version, image.digest) == (key, version, digest)
        ),
        None,
    )


def unanswered(image: InstalledImage) -> str | None:
    """Why docker cannot be asked about this image; None if it answers, whatever it says."""
    cli = docker.program()
    if cli is None:
        return NO_DOCKER
    try:
        docker.image(cli, image.reference)
    except docker.DockerProblem as said:
        return str(said)
    return None


def problem(image: InstalledImage) -> str | None:
    """Why it cannot be started now; None if docker has it under its digest, as it was noted."""
    cli = docker.program()
    if cli is None:
        return NO_DOCKER
    try:
        seen = docker.image(cli, image.reference)
    except docker.DockerProblem as said:
        return str(said)
    if seen is None:
        return f"docker has no image {image.reference}"
    if not seen.is_pinned_by(image.digest):
        named = ", ".join(seen.repo_digests) or "no digest of a registry"
        return f"docker's image {image.reference} bears {named}"
    if seen.identifier != image.identifier:
        return f"it was {image.identifier} when it was noted, and is {seen.identifier}"
    return None


NO_DOCKER = f"there is no {docker.PROGRAM} command on PATH"
