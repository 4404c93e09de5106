"""Small configurations of families that have no file on disk, or of mechanisms no file there shows."""

from typing import Any

_COMMON: dict[str, Any] = {
    "hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads": 2,
    "vocab_size": 100, "intermediate_size": 96, "max_position_embeddings": 64,
    "pad_token_id": 0,
}  # fmt: skip
_EXPERTS: dict[str, Any] = {
    "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 16,
}  # fmt: skip


def _small(model_type: str, **fields: Any) -> dict[str, Any]:
    return {"model_type": model_type, **_COMMON, **fields}


SMALL: dict[str, dict[str, Any]] = {
    str(document["model_type"]): document
    for document in (
        _small(
            "qwen2_moe", **_EXPERTS, shared_expert_intermediate_size=24, decoder_sparse_step=2,
            mlp_only_layers=[1],
        ),
        _small(
            "mimo_v2_flash", head_dim=24, v_head_dim=16, moe_intermediate_size=16,
            n_routed_experts=8, num_experts_per_tok=2, sliding_window=9, num_key_value_heads=1,
        ),
        _small(
            "minimax", head_dim=16, num_local_experts=4, num_experts_per_tok=2,
            layer_types=["linear_attention", "full_attention"] * 3,
        ),
        _small(
            "lfm2", conv_L_cache=3, block_multiple_of=16, layer_types=["conv", "full_attention"] * 3
        ),
        _small(
            "lfm2_moe", **_EXPERTS, conv_L_cache=3, conv_bias=True, num_dense_layers=2,
            use_expert_bias=True, layer_types=["conv", "full_attention"] * 3,
        ),
        _small(
            "jamba", attn_layer_period=3, attn_layer_offset=1, expert_layer_period=2,
            expert_layer_offset=1, num_experts=4, num_experts_per_tok=2, mamba_d_state=8,
            mamba_d_conv=4, mamba_expand=2, mamba_dt_rank=5,
        ),
        _small(
            "falcon_h1", mamba_d_ssm=128, mamba_n_heads=8, mamba_d_head=16, mamba_n_groups=2,
            mamba_d_state=8, mamba_d_conv=4, mamba_rms_norm=True,
        ),
        _small(
            "gemma4_text", head_dim=16, global_head_dim=32, num_global_key_value_heads=1,
            attention_k_eq_v=True, enable_moe_block=True, num_experts=8, top_k_experts=2,
            moe_intermediate_size=16, hidden_size_per_layer_input=8, sliding_window=8,
            vocab_size_per_layer_input=100,
        ),
        _small(
            "llama4_text", head_dim=16, intermediate_size_mlp=80, num_local_experts=4,
            num_experts_per_tok=1, interleave_moe_layer_step=2, attention_chunk_size=8,
        ),
        _small(
            "deepseek_v3", q_lora_rank=None, kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=4,
            v_head_dim=12, n_routed_experts=8, num_experts_per_tok=2, moe_intermediate_size=16,
            n_shared_experts=2, first_k_dense_replace=1, attention_bias=True, n_group=2, topk_group=1,
        ),
        _small("gemma3_text", head_dim=16, sliding_window=8),
        _small(
            "gemma3n_text", head_dim=16, sliding_window=8, num_kv_shared_layers=1,
            num_hidden_layers=10, layer_types=[*["sliding_attention"] * 4, "full_attention"] * 2,
            hidden_size_per_layer_input=8, vocab_size_per_layer_input=90, altup_num_inputs=3,
            laurel_rank=4, intermediate_size=[96] * 9 + [80], activation_sparsity_pattern=[0.0] * 10,
        ),
        _small("gemma", head_dim=32),
        _small("granite", attention_bias=True, mlp_bias=True),
        _small("olmo2"),
        _small("smollm3"),
        _small("seed_oss", attention_bias=True, head_dim=24),
        _small("starcoder2"),
        _small("gpt_neox", num_key_value_heads=None),
        _small(
            "kimi_linear", **_EXPERTS, n_shared_experts=1, q_lora_rank=None, kv_lora_rank=16,
            qk_nope_head_dim=8, qk_rope_head_dim=4, v_head_dim=12, linear_head_dim=8,
            linear_num_heads=4, linear_conv_kernel_dim=4,
            layer_types=["linear_attention", "linear_attention", "full_attention"] * 2,
        ),
        {
            "model_type": "mamba2", "hidden_size": 64, "num_hidden_layers": 3, "vocab_size": 100,
            "num_heads": 8, "head_dim": 16, "state_size": 8, "n_groups": 2, "expand": 2,
        },
        {
            "model_type": "mamba", "hidden_size": 64, "num_hidden_layers": 3, "vocab_size": 100,
            "state_size": 8, "expand": 2,
        },
        _small(
            "qwen3_next", **_EXPERTS, head_dim=16, linear_conv_kernel_dim=4, linear_key_head_dim=8,
            linear_value_head_dim=8, linear_num_key_heads=2, linear_num_value_heads=4,
            shared_expert_intermediate_size=16, decoder_sparse_step=1,
        ),
    )
}  # fmt: skip

# Blocks that differ: KV heads for 4 and for 8 query heads, widths 512 and 768, one without attention.
BLOCKS: dict[str, Any] = {
    "model_type": "nemotron-nas", "architectures": ["DeciLMForCausalLM"], "hidden_size": 256,
    "num_hidden_layers": 3, "num_attention_heads": 8, "vocab_size": 100,
    "num_key_value_heads": None, "intermediate_size": None, "tie_word_embeddings": False,
    "block_configs": [
        {"attention": {"n_heads_in_group": 4, "no_op": False, "replace_with_linear": False},
         "ffn": {"ffn_mult": 2.625, "no_op": False, "replace_with_linear": False}},
        {"attention": {"n_heads_in_group": 8, "no_op": False, "window_length": None},
         "ffn": {"ffn_mult": 4.0, "no_op": False}},
        {"attention": {"n_heads_in_group": None, "no_op": True}, "ffn": {"ffn_mult": 2.625, "no_op": False}},
    ],
}  # fmt: skip
