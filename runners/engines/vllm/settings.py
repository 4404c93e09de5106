"""The declared settings of vLLM, typed; the platform's checks have looked at their values before."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runners.engines.typed_settings import typed


@dataclass(frozen=True, slots=True, kw_only=True)
class VllmSettings:
    """See ``experiments.schema.vllm_settings``. Null leaves the choice to the engine."""

    dtype: str
    kv_dtype: str
    quantization: str | None
    max_model_len: int
    max_num_seqs: int
    max_num_batched_tokens: int
    max_num_queued_reqs: int | None
    scheduling_policy: str
    async_scheduling: bool | None
    block_size: int | None
    kv_cache_gib: int | None
    gpu_memory_utilization: float | None
    enable_chunked_prefill: bool
    enable_prefix_caching: bool
    enforce_eager: bool
    graph_mode: str
    graph_capture_sizes: tuple[int, ...]
    optimization_level: int | None
    attention_backend: str | None
    linear_backend: str | None
    moe_backend: str | None
    model_runner: str
    speculative_config: str | None
    batch_invariant: bool
    load_format: str
    seed: int
    threads: int | None
    thread_binding: str | None
    flags: Mapping[str, str]


def vllm_settings(declared: Mapping[str, Any]) -> VllmSettings:
    """Raises Refused for settings of another engine, naming what is strange or absent."""
    return typed(VllmSettings, declared, engine="vllm", sizes=("graph_capture_sizes",))
