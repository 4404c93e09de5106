"""How a run starts vLLM from its own environment, asks it, and states what ran. No vLLM is imported here."""

from collections.abc import Mapping
from typing import Any

from runners.engines import own_environment
from runners.engines.base import EvidenceContext, LaunchContext, LaunchPlan, Printed, PrintedContext
from runners.engines.vllm import environment, flags, identity, printed, scrape_map
from runners.engines.vllm.settings import vllm_settings
from runners.environments import parsers
from runners.protocol import layout
from runners.protocol.clocks import clock_domain
from runners.protocol.documents import IdentityItem
from runners.protocol.series import SeriesMap

HOST = "127.0.0.1"
# The wheel of CPU builds has another name than the command asks its version of: there only the module starts.
_ENTRY = ("-m", "vllm.entrypoints.openai.api_server")
_VARIANT = "cpu"


class VllmAdapter:
    key = "vllm"

    def environment_problem(self, spec: Mapping[str, Any]) -> str | None:
        """Raises Refused for a flag that the installed version does not take."""
        if (seen := own_environment.problem(spec, variant=_VARIANT)) is not None:
            return seen
        engine = spec["engine"]
        found = own_environment.require(engine, variant=_VARIANT)
        flags.of_study(
            vllm_settings(engine["settings"]),
            engine["parallel"],
            str(spec["device"]["kind"]),
            parsers.read(found.parser),
        )
        return None

    def launch(self, context: LaunchContext) -> LaunchPlan:
        spec = context.spec
        found = own_environment.require(spec["engine"], variant=_VARIANT)
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

    def series(self) -> SeriesMap:
        return scrape_map.SERIES

    def profile_start(self) -> tuple[str, str, Mapping[str, Any]] | None:
        return ("POST", "/start_profile", {})

    def profile_stop(self) -> tuple[str, str, Mapping[str, Any]] | None:
        return ("POST", "/stop_profile", {})

    def printed(self, context: PrintedContext) -> Printed:
        return printed.read(context)

    def identity(self, context: EvidenceContext) -> list[IdentityItem]:
        return identity.items(context)


ADAPTER = VllmAdapter()
