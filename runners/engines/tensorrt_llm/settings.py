"""The declared settings of TensorRT-LLM, typed; the platform's checks have looked at their values before."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runners.engines.typed_settings import typed


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorrtLlmSettings:
    """See ``experiments.schema.tensorrt_llm_settings``. Null leaves the choice to the engine."""

    dtype: str
    kv_dtype: str
    max_seq_len: int
    max_batch_size: int
    max_num_tokens: int
    kv_free_fraction: float | None
    kv_max_tokens: int | None
    tokens_per_block: int | None
    prefix_cache: bool
    chunked_prefill: bool
    overlap: bool
    capacity_policy: str
    attention_backend: str | None
    moe_backend: str | None
    sampler_type: str | None
    graphs: bool
    graph_sizes: tuple[int, ...]
    graph_padding: bool
    stream_interval: int | None
    speculative_config: str | None
    return_token_ids: bool
    flags: Mapping[str, str]
    options: Mapping[str, str]


def tensorrt_llm_settings(declared: Mapping[str, Any]) -> TensorrtLlmSettings:
    """Raises Refused for settings of another engine, naming what is strange or absent."""
    return typed(TensorrtLlmSettings, declared, engine="tensorrt_llm", sizes=("graph_sizes",))
