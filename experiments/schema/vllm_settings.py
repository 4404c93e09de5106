"""What a study controls of vLLM, typed. Whatever else the pinned version takes goes through ``flags``."""

from dataclasses import dataclass
from enum import StrEnum

from experiments.schema.roles import key_field, variable_field


class SchedulingPolicy(StrEnum):
    fcfs = "fcfs"
    priority = "priority"


class ModelRunner(StrEnum):
    """A component's version, not the product's: vLLM 0.32 has both."""

    chosen = "chosen"  # left to the engine, which says what it took
    v1 = "v1"
    v2 = "v2"


class GraphMode(StrEnum):
    """``-cc.cudagraph_mode``; ``chosen`` leaves it to the engine."""

    chosen = "chosen"
    none = "none"
    piecewise = "piecewise"
    full = "full"
    full_decode_only = "full_decode_only"
    full_and_piecewise = "full_and_piecewise"


@dataclass
class VllmSettings:
    """Lengths and budgets are tokens. Null leaves a choice to the engine, whose answer is then evidence.

    ``kv_cache_gib`` is the memory of the KV cache, on any device. ``enable_*`` have no null: what is decided
    later by default could not be told from what was asked. ``batch_invariant`` makes results independent of
    the batch at a cost. ``threads`` and ``thread_binding`` are of CPU builds alone. ``flags`` holds further
    flags of the pinned version by name, without the leading dashes; each is looked up in its own parser.
    """

    dtype: str = variable_field("bfloat16")
    kv_dtype: str = variable_field("auto")
    quantization: str | None = variable_field(None)
    max_model_len: int = variable_field(2048)
    max_num_seqs: int = variable_field(8)
    max_num_batched_tokens: int = variable_field(2048)
    max_num_queued_reqs: int | None = variable_field(None)
    scheduling_policy: SchedulingPolicy = variable_field(SchedulingPolicy.fcfs)
    async_scheduling: bool | None = variable_field(None)
    block_size: int | None = variable_field(None)
    kv_cache_gib: int | None = variable_field(1)
    gpu_memory_utilization: float | None = variable_field(None)
    enable_chunked_prefill: bool = variable_field(True)
    enable_prefix_caching: bool = variable_field(False)
    enforce_eager: bool = variable_field(True)
    graph_mode: GraphMode = variable_field(GraphMode.chosen)
    graph_capture_sizes: list[int] = variable_field(list)
    optimization_level: int | None = variable_field(None)
    attention_backend: str | None = variable_field(None)
    linear_backend: str | None = variable_field(None)
    moe_backend: str | None = variable_field(None)
    model_runner: ModelRunner = variable_field(ModelRunner.chosen)
    speculative_config: str | None = variable_field(None)  # JSON, as the engine takes it
    batch_invariant: bool = variable_field(False)
    load_format: str = variable_field("auto")
    seed: int = key_field(0)
    threads: int | None = variable_field(None)
    thread_binding: str | None = variable_field(None)
    flags: dict[str, str] = variable_field(dict)
