"""The container that a run's engine is started in, whichever engine it is, and the proof of its image."""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from runners.engines.base import LaunchPlan
from runners.environments import docker, images
from runners.environments.images import InstalledImage
from runners.evidence import containers
from runners.evidence.containers import Placed, Seen
from runners.evidence.launch import ROOT, EngineProcess
from runners.protocol.errors import Finding, RunFailed
from runners.protocol.workspace import Workspace

_LOOK_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Contained:
    cli: str
    image: InstalledImage
    spec: Mapping[str, Any]
    context: Mapping[str, Any]  # runners.protocol.documents.RunContext, as it was read
    workspace: Workspace

    @classmethod
    def of(cls, spec: Mapping[str, Any], context: Mapping[str, Any], workspace: Workspace) -> Self:
        """Raises RunFailed when docker or the image went away since it was prepared."""
        engine = spec["engine"]
        cli, image = (
            docker.program(),
            images.find(
                key=str(engine["key"]),
                version=str(engine["version"]),
                digest=str(engine["environment"]["image_digest"]),
            ),
        )
        if cli is None or image is None:
            seen = images.NO_DOCKER if cli is None else "the image is no longer installed"
            raise RunFailed(
                Finding(
                    field="engine.environment",
                    seen=seen,
                    allowed="docker and the image, as they were when the run was prepared",
                    remedy="See assay engines check.",
                )
            )
        return cls(cli=cli, image=image, spec=spec, context=context, workspace=workspace)

    @property
    def name(self) -> str:
        return containers.name_of(self.context["execution_id"])

    def command(self, plan: LaunchPlan, cores: Sequence[int]) -> list[str]:
        files = self.context.get("artifact_files", {})
        return containers.wrapped(
            self.cli,
            plan.command,
            plan.environment,
            Placed(
                image=self.image,
                name=self.name,
                labels=containers.labels(self.context),
                root=ROOT,
                readable=_folders(files.values()),
                writable=[self.workspace.bundle, self.workspace.scratch],
                directory=self.workspace.scratch,
                cores=cores,
                device=self.spec["device"],
                image_root=str(self.spec["engine"]["environment"]["image_root"]),
                secret_names=self.context["secret_names"],
            ),
        )

    async def prove(self, engine: EngineProcess, timeout_s: float) -> Seen:
        """Wait until the container runs; what it was made from must bear the pin. Raises RunFailed."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline and not engine.exited.is_set():
            seen = await asyncio.to_thread(containers.proved, self.cli, self.name, self.image)
            if seen is not None:
                engine.adopt(seen["pid"])
                return seen
            await asyncio.sleep(_LOOK_S)
        ended = engine.exited.is_set()
        words = " | ".join(engine.last_words(6)) or "nothing"
        raise RunFailed(
            Finding(
                field="engine",
                seen=f"docker ended ({engine.how_it_ended()}) before its container was seen to run; "
                f"last lines: {words}"
                if ended
                else f"no container {self.name} within {timeout_s:g} s; last lines: {words}",
                allowed="a container that runs",
                remedy="Read engine.log in the bundle.",
            )
        )


def _folders(files: Iterable[str]) -> list[Path]:
    """Where they lie, and where they lead: a file of a model hub's cache is a link into another folder."""
    paths = [Path(file) for file in files]
    return sorted({path.parent for path in paths} | {path.resolve().parent for path in paths})
