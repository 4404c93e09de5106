"""Engine key -> label and where its adapter lies. Strings only: nothing heavy is imported to list engines."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineEntry:
    label: str
    adapter: str  # "module:attribute", a runners.engines.base.EngineAdapter
    computes: bool = True  # false: no model runs, so nothing is evidenced beyond E0


ENGINES: dict[str, EngineEntry] = {
    "openai_endpoint": EngineEntry(
        label="any OpenAI-style endpoint",
        adapter="runners.engines.openai_endpoint.adapter:ADAPTER",
    ),
    "replay": EngineEntry(
        label="replay of a sealed run",
        adapter="runners.engines.replay.adapter:ADAPTER",
        computes=False,
    ),
    "sglang": EngineEntry(label="SGLang", adapter="runners.engines.sglang.adapter:ADAPTER"),
    "tensorrt_llm": EngineEntry(
        label="TensorRT-LLM", adapter="runners.engines.tensorrt_llm.adapter:ADAPTER"
    ),
    "torch": EngineEntry(
        label="torch (transformers)", adapter="runners.engines.torch.adapter:ADAPTER"
    ),
    "vllm": EngineEntry(label="vLLM", adapter="runners.engines.vllm.adapter:ADAPTER"),
}
