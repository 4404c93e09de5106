"""Model families this model understands, and the fields of their configuration files.

A family says what its modelling code does where the configuration is silent. A field that is in none of the
lists is flagged; one whose name speaks of structure (``MARKERS``) is refused, never ignored.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Facts of the modelling code that no field declares.

    ``tied_default``: value of ``tie_word_embeddings`` when absent. ``qkv_bias``: True or False when fixed by
    the code, None when ``attention_bias`` decides (then the output projection has the same bias).
    """

    tied_default: bool
    qkv_bias: bool | None
    qk_norm: bool


FAMILIES: dict[str, Family] = {
    "llama": Family(tied_default=False, qkv_bias=None, qk_norm=False),
    "mistral": Family(tied_default=False, qkv_bias=False, qk_norm=False),
    "qwen2": Family(tied_default=False, qkv_bias=True, qk_norm=False),
    "qwen3": Family(tied_default=False, qkv_bias=None, qk_norm=True),
    "phi3": Family(tied_default=False, qkv_bias=False, qk_norm=False),
}

ARCHITECTURES: dict[str, str] = {
    "LlamaForCausalLM": "llama",
    "MistralForCausalLM": "mistral",
    "Qwen2ForCausalLM": "qwen2",
    "Qwen3ForCausalLM": "qwen3",
    "Phi3ForCausalLM": "phi3",
}

REQUIRED = (
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "vocab_size",
)

USED = frozenset(
    {
        *REQUIRED,
        "model_type",
        "architectures",
        "head_dim",
        "max_position_embeddings",
        "tie_word_embeddings",
        "attention_bias",
        "mlp_bias",
        "hidden_act",
        "torch_dtype",
        "dtype",
        "quantization_config",
        "sliding_window",
        "use_sliding_window",
        "max_window_layers",
        "layer_types",
    }
)

# Fields that change no work, state or parameter count of these families.
NEUTRAL = frozenset(
    {
        "_name_or_path", "_attn_implementation", "attention_dropout", "attn_implementation",
        "bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id", "sep_token_id",
        "embd_pdrop", "resid_pdrop", "hidden_dropout", "initializer_range", "max_length",
        "original_max_position_embeddings", "partial_rotary_factor", "pretraining_tp",
        "rms_norm_eps", "rope_scaling", "rope_theta", "rope_parameters", "rope_interleaved",
        "transformers_version", "use_cache", "output_attentions", "output_hidden_states",
        "return_dict", "auto_map", "tokenizer_class", "_commit_hash", "_from_model_config",
        "is_llama_config", "transformers.js_config", "id2label", "label2id", "problem_type",
        "task_specific_params", "temperature", "top_k", "top_p", "do_sample", "repetition_penalty",
    }
)  # fmt: skip

# A field whose name holds one of these speaks of another structure; unless empty or off it is refused.
MARKERS = (
    "expert", "moe", "router", "lora", "latent", "nope", "rope_head", "v_head", "qk_head", "window",
    "chunk", "sink", "shared", "cross", "mamba", "ssm", "conv", "linear", "lightning", "delta",
    "recurrent", "state", "hybrid", "pattern", "layer_types", "attn_type", "interval", "index_", "sparse",
    "vision", "visual", "audio", "encoder", "text_config", "tower", "nextn", "mtp", "draft", "softcap",
    "multi_query", "per_layer", "altup", "attn_config",
)  # fmt: skip

# A count or width by its name: it would change work, so it is not ignored either.
SIZE_NAME = re.compile(
    r"^(num_|n_)|_(size|dim|dims|heads|layers|rank|width|channels|groups?|blocks?)$"
)


def speaks_of_structure(field: str) -> bool:
    """Whether a configuration field's name announces a mechanism this model does not have."""
    return any(marker in field.lower() for marker in MARKERS)


def names_a_size(field: str) -> bool:
    """Whether a configuration field's name is that of a count or a width."""
    return SIZE_NAME.search(field.lower()) is not None
