"""What a study controls of TensorRT-LLM (``trtllm-serve``, PyTorch backend), typed.

Further flags of the pinned version go through ``flags``, further keys of its configuration file through
``options``.
"""

from dataclasses import dataclass
from enum import StrEnum

from experiments.schema.roles import key_field, variable_field


class CapacityPolicy(StrEnum):
    guaranteed_no_evict = "guaranteed_no_evict"
    max_utilization = "max_utilization"  # requests may be paused when blocks run out


@dataclass
class TensorrtLlmSettings:
    """Lengths and budgets are tokens. Null leaves a choice to the engine.

    ``kv_free_fraction`` is of the memory that is free after the weights. ``graphs`` are of decode-only
    batches; ``graph_sizes`` empty leaves the batch sizes to the engine, ``graph_padding`` pads a batch to the
    next one. ``options`` holds keys of the configuration file by dotted path, each value as JSON.
    """

    dtype: str = variable_field("bfloat16")
    kv_dtype: str = variable_field("auto")
    max_seq_len: int = variable_field(2048)
    max_batch_size: int = variable_field(8)
    max_num_tokens: int = variable_field(2048)
    kv_free_fraction: float | None = variable_field(None)
    kv_max_tokens: int | None = variable_field(None)
    tokens_per_block: int | None = variable_field(None)
    prefix_cache: bool = variable_field(False)
    chunked_prefill: bool = variable_field(False)
    overlap: bool = variable_field(True)
    capacity_policy: CapacityPolicy = variable_field(CapacityPolicy.guaranteed_no_evict)
    attention_backend: str | None = variable_field(None)
    moe_backend: str | None = variable_field(None)
    sampler_type: str | None = variable_field(None)
    graphs: bool = variable_field(True)
    graph_sizes: list[int] = variable_field(list)
    graph_padding: bool = variable_field(False)
    stream_interval: int | None = variable_field(None)
    speculative_config: str | None = variable_field(
        None
    )  # JSON, as the configuration file takes it
    return_token_ids: bool = key_field(False)
    flags: dict[str, str] = variable_field(dict)
    options: dict[str, str] = variable_field(dict)
