"""How a planned launch becomes a container, for every engine alike; and what a container is seen to be.

The command stays the adapter's: it is wrapped. Files lie at the same places inside as outside, and the
network is the host's, so ports, clocks and paths mean the same on both sides. Only what is named here is
passed in.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from runners.environments import docker
from runners.environments.docker import Container, DockerProblem
from runners.environments.images import InstalledImage
from runners.evidence import amd_smi, device_readings
from runners.evidence.processes import MARK
from runners.protocol.errors import Finding, RunFailed

# Where the engine's files in Assay's own packages are imported from: vLLM's witness, the torch engine.
_PACKAGES = ("runners", "experiments")
_HOME = "home"  # below scratch: caches that an engine keeps in its home go with the run
_FENCE_DIGITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """What a container of this run gets. ``root`` holds Assay's packages; ``readable`` is read-only."""

    image: InstalledImage
    name: str
    labels: Mapping[str, str]
    root: Path
    readable: Sequence[Path]
    writable: Sequence[Path]
    directory: Path
    cores: Sequence[int]
    device: Mapping[str, Any]  # ``kind`` and ``count`` of the declaration
    image_root: str
    secret_names: Sequence[str]


class Seen(TypedDict):
    """The image and container of a run, as docker states them."""

    reference: str
    image_id: str
    repo_digests: list[str]
    architecture: str
    container_id: str
    name: str
    pid: int | None


def name_of(execution_id: str) -> str:
    return f"assay-{execution_id}"


def labels(context: Mapping[str, Any]) -> dict[str, str]:
    """Whose a container is. The fencing token is a secret: its digest tells one holder from another."""
    fence = hashlib.sha256(context["token"].encode()).hexdigest()[:_FENCE_DIGITS]
    return {
        docker.RUN: context["run_id"],
        docker.EXECUTION: context["execution_id"],
        docker.FENCE: fence,
    }


def wrapped(
    cli: str, command: Sequence[str], environment: Mapping[str, str], placed: Placed
) -> list[str]:
    """``docker run`` around a command. Values of secrets are taken from docker's own environment, by name."""
    more = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    inside = {
        "PYTHONUNBUFFERED": "1",
        "HOME": str(placed.directory / _HOME),
        **environment,
        "PYTHONPATH": os.pathsep.join(dict.fromkeys([str(placed.root), *more])),
        MARK: placed.labels[docker.EXECUTION],
    }
    (placed.directory / _HOME).mkdir(exist_ok=True)
    readable = dict.fromkeys([*(placed.root / name for name in _PACKAGES), *placed.readable])
    return [
        *(cli, "run", "--rm", "--init", "--pull", "never", "--name", placed.name),
        *_each("--label", [f"{key}={value}" for key, value in placed.labels.items()]),
        *("--network", "host", "--ipc", "host", "--user", f"{os.getuid()}:{os.getgid()}"),
        *("--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
        *(("--read-only",) if placed.image_root == "read_only" else ()),
        *("--tmpfs", "/tmp:exec,mode=1777", "--workdir", str(placed.directory)),
        *(("--cpuset-cpus", ",".join(map(str, placed.cores))) if placed.cores else ()),
        *_devices(placed.device),
        *_each("--mount", [_mount(path) + ",readonly" for path in readable]),
        *_each("--mount", [_mount(path) for path in dict.fromkeys(placed.writable)]),
        *_each("--env", [f"{name}={value}" for name, value in inside.items()]),
        *_each("--env", [name for name in placed.secret_names if name in os.environ]),
        *("--entrypoint", command[0], placed.image.reference, *command[1:]),
    ]


def proved(cli: str, name: str, image: InstalledImage) -> Seen | None:
    """What runs under this name; None while nothing does. Raises RunFailed for another image."""
    try:
        container = docker.container(cli, name)
        if container is None or not container.running:
            return None
        return _compared(cli, name, container, image)
    except DockerProblem as problem:
        raise _another(str(problem), image) from problem


def _compared(cli: str, name: str, container: Container, image: InstalledImage) -> Seen:
    ran = docker.image(cli, container.image)
    if ran is None or not ran.is_pinned_by(image.digest):
        named = "no image" if ran is None else ", ".join(ran.repo_digests) or "no digest"
        raise _another(f"the container runs {container.image}, which bears {named}", image)
    return Seen(
        reference=image.reference,
        image_id=ran.identifier,
        repo_digests=list(ran.repo_digests),
        architecture=ran.architecture,
        container_id=container.identifier,
        name=name,
        pid=container.pid,
    )


def _another(seen: str, image: InstalledImage) -> RunFailed:
    return RunFailed(
        Finding(
            field="engine.environment.image_digest",
            seen=seen,
            allowed=image.digest,
            remedy=f"assay engines check {image.pin.name}",
        )
    )


def _devices(device: Mapping[str, Any]) -> list[str]:
    """NVIDIA boards by the container toolkit; AMD's, which torch calls cuda too, by their device files."""
    if device["kind"] != "cuda":
        return []
    if not amd_smi.DRIVER.exists() or device_readings.DRIVER.exists():
        chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
        return ["--gpus", f'"device={chosen}"' if chosen else str(device["count"])]
    return [*_each("--device", ["/dev/kfd", "/dev/dri"]), "--group-add", "video"]


def _mount(path: Path) -> str:
    """One field of docker's comma-separated form each, quoted: a path may hold a comma."""
    quoted = str(path).replace('"', '""')
    return f'type=bind,"source={quoted}","target={quoted}"'


def _each(flag: str, values: Sequence[str]) -> list[str]:
    return [word for value in values for word in (flag, value)]
