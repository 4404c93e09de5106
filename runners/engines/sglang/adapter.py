"""How a run starts SGLang from its own environment, asks it, and states what ran. It imports no SGLang."""

from collections.abc import Mapping
from typing import Any

from runners.engines import own_environment
from runners.engines.base import EvidenceContext, LaunchContext, LaunchPlan, Printed, PrintedContext
from runners.engines.sglang import environment, flags, identity, printed, scrape_map
from runners.engines.sglang.settings import sglang_settings
from runners.environments import parsers
from runners.protocol.clocks import clock_domain
from runners.protocol.documents import IdentityItem
from runners.protocol.series import SeriesMap

HOST = "127.0.0.1"
_ENTRY = (
    "-m",
    "sglang.launch_server",
)  # ``sglang serve`` names the same; the module needs no script
_VARIANT = "cpu"


class SglangAdapter:
    key = "sglang"

    def environment_problem(self, spec: Mapping[str, Any]) -> str | None:
        """Raises Refused for a flag that the installed version does not take."""
        if (seen := own_environment.problem(spec, variant=_VARIANT)) is not None:
            return seen
        engine = spec["engine"]
        found = own_environment.require(engine, variant=_VARIANT)
        flags.of_study(
            sglang_settings(engine["settings"]), engine["parallel"], parsers.read(found.parser)
        )
        return None

    def launch(self, context: LaunchContext) -> LaunchPlan:
        spec = context.spec
        found = own_environment.require(spec["engine"], variant=_VARIANT)
        settings = sglang_settings(spec["engine"]["settings"])
        device = str(spec["device"]["kind"])
        dump = parsers.read(found.parser)
        first = spec["artifact"]["files"][0]["path"]
        model = str(context.artifact_files[first].parent)
        return LaunchPlan(
            command=[
                *(str(found.interpreter), *_ENTRY),
                *("--model-path", model, "--tokenizer-path", model),
                *("--served-model-name", str(spec["artifact"]["name"])),
                *("--host", HOST, "--port", str(context.port), "--device", device),
                *flags.of_study(settings, spec["engine"]["parallel"], dump),
                *flags.of_evidence(dump),
            ],
            environment=environment.variables(
                settings, device=device, bundle=context.bundle, scratch=context.scratch
            ),
            base_url=f"http://{HOST}:{context.port}",
            events_file=None,  # it writes none; see ``printed``
            clock_domain=clock_domain(),
        )

    def health_path(self) -> str:
        return "/ready"  # /health generates a token, which would be load

    def version_path(self) -> str:
        return "/v1/loads"  # there is no /version

    def info_path(self) -> str | None:
        return "/server_info"

    def metrics_path(self) -> str | None:
        return "/metrics"

    def series(self) -> SeriesMap:
        return scrape_map.SERIES

    def profile_start(self) -> tuple[str, str, Mapping[str, Any]] | None:
        return ("POST", "/start_profile", {"with_stack": False, "record_shapes": True})

    def profile_stop(self) -> tuple[str, str, Mapping[str, Any]] | None:
        return ("POST", "/stop_profile", {})

    def printed(self, context: PrintedContext) -> Printed:
        return printed.read(context)

    def identity(self, context: EvidenceContext) -> list[IdentityItem]:
        return identity.items(context)


ADAPTER = SglangAdapter()
