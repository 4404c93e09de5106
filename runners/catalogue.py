"""Engine key -> label and where its adapter lies. Strings only: nothing heavy is imported to list engines."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineEntry:
    label: str
    adapter: str  # "module:attribute", a runners.engines.base.EngineAdapter


ENGINES: dict[str, EngineEntry] = {
    "openai_endpoint": EngineEntry(
        label="any OpenAI-style endpoint",
        adapter="runners.engines.openai_endpoint.adapter:ADAPTER",
    ),
    "torch": EngineEntry(
        label="torch (transformers)", adapter="runners.engines.torch.adapter:ADAPTER"
    ),
}
