"""How a run starts TensorRT-LLM from its own environment, asks it, and states what ran.

Written after the documentation and source of the 1.2 line; never run here, where no GPU is at hand. No
TensorRT-LLM is imported.
"""

from collections.abc import Mapping
from typing import Any

from runners.engines import own_environment
from runners.engines.base import EvidenceContext, LaunchContext, LaunchPlan, Printed, PrintedContext
from runners.engines.tensorrt_llm import configuration, identity, printed, scrape_map
from runners.engines.tensorrt_llm.settings import tensorrt_llm_settings
from runners.environments import parsers
from runners.protocol.clocks import clock_domain
from runners.protocol.documents import IdentityItem
from runners.protocol.series import SeriesMap

HOST = "127.0.0.1"
_SCRIPT = "trtllm-serve"
_VARIANT = "cuda"


class TensorrtLlmAdapter:
    key = "tensorrt_llm"

    def environment_problem(self, spec: Mapping[str, Any]) -> str | None:
        """Raises Refused for a flag that the installed version does not take."""
        if (seen := own_environment.problem(spec, variant=_VARIANT)) is not None:
            return seen
        engine = spec["engine"]
        found = own_environment.require(engine, variant=_VARIANT)
        configuration.flags_of(
            tensorrt_llm_settings(engine["settings"]),
            engine["parallel"],
            parsers.read(found.parser),
        )
        return None

    def launch(self, context: LaunchContext) -> LaunchPlan:
        spec = context.spec
        found = own_environment.require(spec["engine"], variant=_VARIANT)
        settings = tensorrt_llm_settings(spec["engine"]["settings"])
        dump = parsers.read(found.parser)
        first = spec["artifact"]["files"][0]["path"]
        model = str(context.artifact_files[first].parent)
        file = context.scratch / configuration.FILE
        file.write_text(configuration.file_of(settings), encoding="utf-8")
        return LaunchPlan(
            command=[
                *(found.program(_SCRIPT), model),
                *("--backend", "pytorch", "--tokenizer", model),
                *("--host", HOST, "--port", str(context.port), "--log_level", "info"),
                *configuration.flags_of(settings, spec["engine"]["parallel"], dump),
                *("--config", str(file)),
            ],
            environment={
                "HF_HUB_OFFLINE": "1",  # nothing is fetched: the artifact is on disk and verified
                "TRTLLM_NO_USAGE_STATS": "1",
                "TOKENIZERS_PARALLELISM": "false",
                "TZ": "UTC",  # its log prints local times
            },
            base_url=f"http://{HOST}:{context.port}",
            events_file=None,  # it writes none; see ``printed``
            clock_domain=clock_domain(),
        )

    def health_path(self) -> str:
        return "/health"  # generates nothing

    def version_path(self) -> str:
        return "/version"

    def info_path(self) -> str | None:
        return None  # /server_info is of later versions, and of training frameworks

    def metrics_path(self) -> str | None:
        return "/prometheus/metrics"  # /metrics is a queue of JSON that reading empties

    def series(self) -> SeriesMap:
        return scrape_map.SERIES

    def profile_start(self) -> tuple[str, str, Mapping[str, Any]] | None:
        return None  # 1.2 profiles a range of iterations that its environment names at the start

    def profile_stop(self) -> tuple[str, str, Mapping[str, Any]] | None:
        return None

    def printed(self, context: PrintedContext) -> Printed:
        return printed.read(context)

    def identity(self, context: EvidenceContext) -> list[IdentityItem]:
        return identity.items(context)


ADAPTER = TensorrtLlmAdapter()
