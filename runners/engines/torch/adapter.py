"""How a run starts the torch engine, asks it, and states what ran. No model code is imported here."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runners.engines import own_environment
from runners.engines.base import (
    EvidenceContext,
    LaunchContext,
    LaunchPlan,
    Printed,
    PrintedContext,
)
from runners.engines.torch import identity, scrape_map, versions
from runners.engines.torch.settings import (
    FORMATS,
    ServerConfig,
    engine_settings,
    generation_defaults,
    refused,
)
from runners.protocol import layout
from runners.protocol.clocks import clock_domain
from runners.protocol.documents import IdentityItem
from runners.protocol.errors import RunnerError
from runners.protocol.series import SeriesMap
from runners.protocol.threads import OPENMP_WAITING

HOST = "127.0.0.1"
CONFIG_FILE = "torch_engine.json"
_VARIANT = "cpu"
_ROOT = (
    Path(__file__).resolve().parents[3]
)  # the checkout or the site-packages that hold ``runners``


class TorchAdapter:
    key = "torch"

    def environment_problem(self, spec: Mapping[str, Any]) -> str | None:
        engine = spec["engine"]
        kind = str(engine["environment"]["kind"])
        if kind == "container":
            problem = own_environment.problem(spec, variant=_VARIANT)
        elif kind == "platform":
            problem = _platform_problem(engine)
        else:
            problem = (
                f"engine.environment.kind is {kind}; the torch engine runs in Assay's own environment or "
                "in a container. Set engine.environment.kind=platform"
            )
        if problem is not None:
            return problem
        try:
            engine_settings(engine["settings"])
        except RunnerError as error:
            return str(error)
        return None

    def launch(self, context: LaunchContext) -> LaunchPlan:
        config = self._config(context)
        path = context.scratch / CONFIG_FILE
        config.write(path)
        engine, python = context.spec["engine"], sys.executable
        if engine["environment"]["kind"] == "container":
            python = str(own_environment.require(engine, variant=_VARIANT).interpreter)
        return LaunchPlan(
            command=[python, "-m", "runners.engines.torch", "--config", str(path)],
            environment={
                "PYTHONPATH": str(_ROOT),
                "PYTHONUNBUFFERED": "1",
                "HF_HUB_OFFLINE": "1",  # nothing is fetched: the artifact is on disk and verified
                "TQDM_DISABLE": "1",
                "TOKENIZERS_PARALLELISM": "false",
                "OMP_NUM_THREADS": str(config.settings.threads),
                **OPENMP_WAITING,
            },
            base_url=f"http://{HOST}:{context.port}",
            events_file=Path(config.events_file),
            clock_domain=clock_domain(),  # both processes are of this machine and this namespace
        )

    def _config(self, context: LaunchContext) -> ServerConfig:
        spec = context.spec
        artifact = spec["artifact"]
        weights = [f for f in artifact["files"] if str(f["format"]) in FORMATS]
        if not weights:
            seen = ", ".join(sorted({str(f["format"]) for f in artifact["files"]})) or "no file"
            raise refused("artifact.files", seen, ", ".join(FORMATS))
        first = weights[0]
        return ServerConfig(
            engine_version=str(spec["engine"]["version"]),
            execution_id=context.execution_id,
            host=HOST,
            port=context.port,
            model_name=str(artifact["name"]),
            weight_file=str(context.artifact_files[first["path"]]),
            weight_sha256=first["sha256"],
            weight_format=str(first["format"]),
            events_file=str(context.bundle / layout.ENGINE_EVENTS),
            trace_folder=str(context.bundle / layout.TRACE_FOLDER),
            settings=engine_settings(spec["engine"]["settings"]),
            generation=generation_defaults(artifact["generation"]),
        )

    def health_path(self) -> str:
        return "/health"

    def version_path(self) -> str:
        return "/version"

    def info_path(self) -> str | None:
        return "/server_info"

    def metrics_path(self) -> str | None:
        return "/metrics"

    def series(self) -> SeriesMap:
        return scrape_map.SERIES

    def profile_start(self) -> tuple[str, str, Mapping[str, Any]] | None:
        return ("POST", "/start_profile", {})

    def profile_stop(self) -> tuple[str, str, Mapping[str, Any]] | None:
        return ("POST", "/stop_profile", {})

    def printed(self, context: PrintedContext) -> Printed:
        return Printed()  # its own event log says it

    def identity(self, context: EvidenceContext) -> list[IdentityItem]:
        return identity.items(context)


def _platform_problem(engine: Mapping[str, Any]) -> str | None:
    """What the environment that this process runs in lacks; a declared lock must be its own."""
    pinned, own = engine["environment"]["lock_sha256"], versions.platform_lock()
    if pinned is not None and pinned != own:
        return (
            f"the platform's own lock has sha256 {own}, pin says {pinned}. Run: declare it, or check out "
            "the version of Assay whose constraints.txt it is"
        )
    wanted = {"torch": str(engine["version"]), **versions.PINS}
    for package, version in wanted.items():
        found = versions.installed(package)
        if found is None or versions.public(found) != versions.public(version):
            seen = f"{package} {found}" if found else f"no {package}"
            return (
                f"the torch engine is pinned to {package} {version} and {seen} is installed in "
                f"{sys.prefix}. Run: {sys.executable} -m pip install '{package}=={version}'"
            )
    for package in ("accelerate", "uvicorn", "httptools", "uvloop", "prometheus-client"):
        if versions.installed(package) is None:
            return f"{package} is missing. Run: {sys.executable} -m pip install -e '.[torch]'"
    return None


ADAPTER = TorchAdapter()
