"""The docker command line, asked and never through a shell: which images and containers are there.

Standard library only: the keeper imports this. An answer is docker's own JSON; a form that is not known is
no answer.
"""

import json
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

PROGRAM = "docker"
# on every container of a run: whose it is
RUN, EXECUTION, FENCE = "assay.run", "assay.execution", "assay.fence"
_ASK_S = 30.0


class DockerProblem(Exception):
    """What docker answered instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """``identifier`` is the digest of its configuration; ``repo_digests`` is what registries call it."""

    identifier: str
    repo_digests: tuple[str, ...]
    architecture: str
    created: str

    def is_pinned_by(self, digest: str) -> bool:
        return any(name.rpartition("@")[2] == digest for name in self.repo_digests)


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """``pid`` is of its first process as this host numbers it; null while there is none."""

    identifier: str
    image: str  # identifier of the image it was made from
    pid: int | None
    running: bool


def program() -> str | None:
    """Where the command lies; None if it is not installed."""
    return shutil.which(PROGRAM)


def image(cli: str, reference: str) -> Image | None:
    """A local image; None if there is none of that name. Raises DockerProblem when docker does not answer."""
    document = _inspected(cli, ["image", "inspect", reference])
    if document is None:
        return None
    try:
        return Image(
            identifier=str(document["Id"]),
            repo_digests=tuple(str(name) for name in document["RepoDigests"] or ()),
            architecture=str(document["Architecture"]),
            created=str(document["Created"]),
        )
    except (KeyError, TypeError) as error:
        raise DockerProblem(f"image inspect answers without {error}") from error


def container(cli: str, name: str) -> Container | None:
    """A container by name; None if there is none. Raises DockerProblem when docker does not answer."""
    document = _inspected(cli, ["container", "inspect", name])
    if document is None:
        return None
    try:
        state = document["State"]
        return Container(
            identifier=str(document["Id"]),
            image=str(document["Image"]),
            pid=int(state["Pid"]) or None,
            running=bool(state["Running"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DockerProblem(f"container inspect answers without {error}") from error


def of_execution(cli: str, execution_id: str) -> list[str]:
    """Identifiers of every container of this execution, stopped ones too."""
    return ask(cli, listing(execution_id)).split()


def listing(execution_id: str) -> list[str]:
    return ["ps", "--all", "--quiet", "--no-trunc", "--filter", f"label={EXECUTION}={execution_id}"]


STEPS = 3  # of ``endings``


def endings(names: Iterable[str], *, patience_s: float) -> list[list[str]]:
    """What ends containers, the gentlest first: each is tried only while one of them is there."""
    known = list(names)
    return [
        ["stop", "-t", str(max(int(patience_s), 1)), *known],
        ["kill", *known],
        ["rm", "--force", *known],
    ]


def ask(cli: str, arguments: Sequence[str], *, timeout_s: float = _ASK_S) -> str:
    """What it printed. Raises DockerProblem with its own last words."""
    try:
        done = subprocess.run(
            [cli, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DockerProblem(f"{cli} {arguments[0]}: {error}") from error
    if done.returncode:
        words = " | ".join(done.stderr.strip().splitlines()[-4:]) or "nothing"
        raise DockerProblem(f"{cli} {arguments[0]} ended with {done.returncode}: {words}")
    return done.stdout


def _inspected(cli: str, arguments: Sequence[str]) -> dict[str, Any] | None:
    try:
        text = ask(cli, arguments)
    except DockerProblem as problem:
        if "no such" in str(problem).lower():
            return None
        raise
    try:
        (document,) = json.loads(text)
        return dict(document)
    except (ValueError, TypeError) as error:
        raise DockerProblem(
            f"{' '.join(arguments[:2])} answers in another form: {error}"
        ) from error
