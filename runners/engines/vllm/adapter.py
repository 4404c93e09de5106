"""How a run starts vLLM from its own environment, asks it, and states what ran. No vLLM is imported here."""

from collections.abc import Mapping
from typing import Any

from runners.engines.base import EvidenceContext, LaunchContext, LaunchPlan, Printed, PrintedContext
from runners.engines.vllm import environment, flags, identity, printed
from runners.engines.vllm.settings import vllm_settings
from runners.environments import checking, parsers, records
from runners.environments.pins import EnginePin, engines_folder
from runners.environments.records import Environment
from runners.protocol import layout
from runners.protocol.clocks import clock_domain
from runners.protocol.documents import IdentityItem
from runners.protocol.errors import EnvironmentLacks, Finding

HOST = "127.0.0.1"
# The wheel of CPU builds has another name than the command asks its version of: there only the module starts.
_ENTRY = ("-m", "vllm.entrypoints.openai.api_server")


class VllmAdapter:
    key = "vllm"

    def environment_problem(self, spec: Mapping[str, Any]) -> str | None:
        """Raises Refused for a flag that the installed version does not take."""
        engine = spec["engine"]
        kind = str(engine["environment"]["kind"])
        if kind != "venv":
            return (
                f"engine.environment.kind is {kind}; vllm runs in an environment of its own. "
                "Set engine.environment.kind=venv"
            )
        found = _environment(spec)
        if found is None:
            return _not_installed(engine)
        if (problem := checking.quick_problem(found)) is not None:
            remove = f"assay engines remove {found.pin.name}"
            return f"{found.pin.name}: {problem}. Run: {remove} && {found.pin.install_command}"
        flags.of_study(
            vllm_settings(engine["settings"]),
            engine["parallel"],
            str(spec["device"]["kind"]),
            parsers.read(found.parser),
        )
        return None

    def launch(self, context: LaunchContext) -> LaunchPlan:
        spec, found = context.spec, _environment(context.spec)
        if found is None:
            raise _lacks(_not_installed(spec["engine"]))
        settings = vllm_settings(spec["engine"]["settings"])
        device = str(spec["device"]["kind"])
        dump = parsers.read(found.parser)
        first = spec["artifact"]["files"][0]["path"]
        model = str(context.artifact_files[first].parent)
        traced = spec["evidence"]["trace"]["enabled"]
        environment.write_logging(context.scratch)
        return LaunchPlan(
            command=[
                *(str(found.interpreter), *_ENTRY),
                *("--model", model, "--tokenizer", model),
                *("--served-model-name", str(spec["artifact"]["name"])),
                *("--host", HOST, "--port", str(context.port)),
                *flags.of_study(settings, spec["engine"]["parallel"], device, dump),
                *flags.of_evidence(
                    dump, trace_folder=str(context.bundle / layout.TRACE_FOLDER) if traced else None
                ),
            ],
            environment=environment.variables(
                settings,
                device=device,
                scratch=context.scratch,
                events=context.bundle / layout.ENGINE_EVENTS,
                domain=clock_domain(),
            ),
            base_url=f"http://{HOST}:{context.port}",
            events_file=context.bundle
            / layout.ENGINE_EVENTS,  # the front end's; see also ``printed``
            clock_domain=clock_domain(),
        )

    def health_path(self) -> str:
        return "/health"  # generates nothing

    def version_path(self) -> str:
        return "/version"

    def info_path(self) -> str | None:
        return "/server_info?config_format=json"

    def metrics_path(self) -> str | None:
        return "/metrics"

    def profile_start(self) -> tuple[str, str, Mapping[str, Any]] | None:
        return ("POST", "/start_profile", {})

    def profile_stop(self) -> tuple[str, str, Mapping[str, Any]] | None:
        return ("POST", "/stop_profile", {})

    def printed(self, context: PrintedContext) -> Printed:
        return printed.read(context)

    def identity(self, context: EvidenceContext) -> list[IdentityItem]:
        return identity.items(context)


def _environment(spec: Mapping[str, Any]) -> Environment | None:
    engine = spec["engine"]
    return records.find(
        key=VllmAdapter.key,
        version=str(engine["version"]),
        lock_sha256=engine["environment"]["lock_sha256"],
    )


def _not_installed(engine: Mapping[str, Any]) -> str:
    """Names what is pinned and what is there, so that a wrong version is told from a missing one."""
    version, lock = str(engine["version"]), engine["environment"]["lock_sha256"]
    there = [e.pin.name for e in records.installed() if e.pin.key == VllmAdapter.key]
    pin = EnginePin(key=VllmAdapter.key, version=version, variant="cpu")
    return (
        f"vllm {version} with lock {lock} is not installed below {engines_folder()} "
        f"(there: {', '.join(there) or 'none'}). Run: {pin.install_command}"
    )


def _lacks(problem: str) -> EnvironmentLacks:
    seen, _, remedy = problem.partition(". Run: ")
    return EnvironmentLacks(
        Finding(field="engine.environment", seen=seen, allowed="the pinned engine", remedy=remedy)
    )


ADAPTER = VllmAdapter()
