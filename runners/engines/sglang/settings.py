"""The declared settings of SGLang, typed; the platform's checks have looked at their values before."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runners.engines.typed_settings import typed


@dataclass(frozen=True, slots=True, kw_only=True)
class SglangSettings:
    """See ``experiments.schema.sglang_settings``. Null leaves the choice to the engine."""

    dtype: str
    kv_dtype: str
    quantization: str | None
    context_length: int
    max_running_requests: int
    max_total_tokens: int | None
    max_prefill_tokens: int | None
    max_queued_requests: int | None
    schedule_policy: str
    schedule_conservativeness: float | None
    overlap: bool
    chunked_prefill_size: int | None
    mixed_chunk: bool
    prefix_cache: bool
    page_size: int | None
    mem_fraction_static: float | None
    attention_backend: str | None
    prefill_attention_backend: str | None
    decode_attention_backend: str | None
    sampling_backend: str | None
    bf16_gemm_backend: str | None
    fp8_gemm_backend: str | None
    fp4_gemm_backend: str | None
    moe_runner_backend: str | None
    moe_a2a_backend: str | None
    decode_graphs: str
    prefill_graphs: str
    decode_graph_sizes: tuple[int, ...]
    torch_compile: bool
    speculative_algorithm: str | None
    speculative_num_steps: int | None
    speculative_eagle_topk: int | None
    speculative_num_draft_tokens: int | None
    deterministic: bool
    load_format: str
    seed: int
    threads: int | None
    return_token_ids: bool
    flags: Mapping[str, str]


def sglang_settings(declared: Mapping[str, Any]) -> SglangSettings:
    """Raises Refused for settings of another engine, naming what is strange or absent."""
    return typed(SglangSettings, declared, engine="sglang", sizes=("decode_graph_sizes",))
