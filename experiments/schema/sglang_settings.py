"""What a study controls of SGLang, typed. Whatever else the pinned version takes goes through ``flags``."""

from dataclasses import dataclass
from enum import StrEnum

from experiments.schema.roles import key_field, variable_field


class SchedulePolicy(StrEnum):
    fcfs = "fcfs"
    lpm = "lpm"  # longest prefix match
    dfs_weight = "dfs_weight"
    random = "random"
    lof = "lof"
    priority = "priority"
    hrrn = "hrrn"
    shortest_prefill_first = "shortest_prefill_first"


class SglangGraphs(StrEnum):
    """The graph backend of one phase; ``chosen`` leaves it to the engine."""

    chosen = "chosen"
    full = "full"
    breakable = "breakable"
    disabled = "disabled"


@dataclass
class SglangSettings:
    """Lengths and budgets are tokens. Null leaves a choice to the engine, whose answer is then evidence.

    ``chunked_prefill_size`` -1 turns chunking off. ``prefix_cache`` is the radix tree, ``overlap`` the
    schedule that prepares a step while the one before runs. ``deterministic`` makes results independent of
    the batch at a cost. ``threads`` is of CPU starts alone. Token ids are not asked for: a streamed chat that
    asks is answered 400. ``flags`` holds further flags of the pinned version by name, without the leading
    dashes; a plain switch has an empty value. Each is looked up in the version's own parser.
    """

    dtype: str = variable_field("bfloat16")
    kv_dtype: str = variable_field("auto")
    quantization: str | None = variable_field(None)
    context_length: int = variable_field(2048)
    max_running_requests: int = variable_field(8)
    max_total_tokens: int | None = variable_field(None)
    max_prefill_tokens: int | None = variable_field(None)
    max_queued_requests: int | None = variable_field(None)
    schedule_policy: SchedulePolicy = variable_field(SchedulePolicy.fcfs)
    schedule_conservativeness: float | None = variable_field(None)
    overlap: bool = variable_field(True)
    chunked_prefill_size: int | None = variable_field(None)
    mixed_chunk: bool = variable_field(False)
    prefix_cache: bool = variable_field(False)
    page_size: int | None = variable_field(None)
    mem_fraction_static: float | None = variable_field(None)
    attention_backend: str | None = variable_field(None)
    prefill_attention_backend: str | None = variable_field(None)
    decode_attention_backend: str | None = variable_field(None)
    sampling_backend: str | None = variable_field(None)
    bf16_gemm_backend: str | None = variable_field(None)
    fp8_gemm_backend: str | None = variable_field(None)
    fp4_gemm_backend: str | None = variable_field(None)
    moe_runner_backend: str | None = variable_field(None)
    moe_a2a_backend: str | None = variable_field(None)
    decode_graphs: SglangGraphs = variable_field(SglangGraphs.chosen)
    prefill_graphs: SglangGraphs = variable_field(SglangGraphs.chosen)
    decode_graph_sizes: list[int] = variable_field(list)
    torch_compile: bool = variable_field(False)
    speculative_algorithm: str | None = variable_field(None)
    speculative_num_steps: int | None = variable_field(None)
    speculative_eagle_topk: int | None = variable_field(None)
    speculative_num_draft_tokens: int | None = variable_field(None)
    deterministic: bool = variable_field(False)
    load_format: str = variable_field("auto")
    seed: int = key_field(0)
    threads: int | None = variable_field(None)
    return_token_ids: bool = key_field(False)
    flags: dict[str, str] = variable_field(dict)
