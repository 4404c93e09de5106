"""Names of configuration fields: those without effect on any size, and those that speak of structure."""

import re

# Fields that change no work, state or parameter count of any family.
NEUTRAL = frozenset(
    {
        # identity, tokens, training
        "_name_or_path", "model_type", "architectures", "auto_map", "tokenizer_class", "_commit_hash",
        "_from_model_config", "transformers_version", "transformers.js_config", "is_llama_config",
        "bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id", "sep_token_id",
        "decoder_start_token_id", "image_token_id", "image_token_index", "video_token_id",
        "audio_token_id", "vision_start_token_id", "vision_end_token_id", "vision_token_id",
        "boi_token_index", "eoi_token_index", "boi_token_id", "eoi_token_id", "boa_token_id",
        "eoa_token_id", "eoa_token_index", "media_placeholder_token_id", "video_placeholder",
        "ignore_index", "mm_tokens_per_image", "vision_soft_tokens_per_image", "tokenizer_name",
        "id2label", "label2id", "problem_type", "task_specific_params", "finetuning_task", "prefix",
        "initializer_range", "init_device", "init_config", "attention_dropout", "attn_dropout_prob",
        "emb_dropout_prob", "attn_pdrop", "embd_pdrop", "emb_pdrop", "resid_pdrop", "hidden_dropout",
        "expert_dropout", "input_jitter_noise", "router_jitter_noise", "router_aux_loss_coef",
        "output_router_logits", "aux_loss_alpha", "seq_aux", "pretraining_tp", "ep_size",
        "rescale_prenorm_residual", "time_step_floor", "time_step_max", "time_step_min",
        "time_step_limit", "time_step_rank", "bias_dropout_fusion", "for_llm_compressor",
        # positions, norms, activations, routing of a fixed number of experts
        "partial_rotary_factor", "rope_scaling", "rope_theta", "rope_parameters", "rope_interleaved",
        "rope_interleave", "rope_local_base_freq", "rotary_dim", "rotary_pct", "rotary_emb_base",
        "rope_ratio", "original_rope", "original_max_position_embeddings", "initial_context_length",
        "use_dynamic_ntk", "use_logn_attn", "alibi", "rms_norm_eps", "norm_eps", "layer_norm_eps",
        "layer_norm_epsilon", "layernorm_epsilon", "norm_type", "norm_topk_prob", "scoring_func",
        "n_group", "topk_group", "routed_scaling_factor", "scale_attn_weights", "logit_scale",
        "query_pre_attn_scalar", "attn_logit_softcapping", "final_logit_softcapping", "swiglu_limit",
        "scale_emb", "dim_model_base", "scale_depth", "apply_query_key_layer_scaling",
        "apply_residual_connection_post_layernorm", "fp32_residual_connection", "residual_in_fp32",
        "attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "indexer_rope_interleave",
        "post_layer_norm", "rmsnorm", "embedding_fraction", "onnx_safe", "temperature_tuning",
        # how an implementation runs it
        "_attn_implementation", "attn_implementation", "_attn_implementation_autoset", "use_cache",
        "use_flash_attn", "cache_implementation", "output_attentions", "output_hidden_states",
        "return_dict", "use_mamba_kernels", "num_logits_to_keep", "use_bfloat16", "bf16", "fp16", "fp32",
        "torchscript", "tf_legacy_loss", "pad_key_length", "pre_allocate_kv_cache", "inference_runner",
        "validate_runner_input", "max_batch_size", "max_sequence_length", "verbose", "is_decoder",
        "pruned_heads", "chunk_size_feed_forward", "quantization_config",
        # generation
        "max_length", "min_length", "temperature", "top_k", "top_p", "typical_p", "do_sample",
        "repetition_penalty", "length_penalty", "diversity_penalty", "num_beams", "num_beam_groups",
        "num_return_sequences", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size",
        "early_stopping", "remove_invalid_values", "return_dict_in_generate", "output_scores",
        "bad_words_ids", "suppress_tokens", "begin_suppress_tokens", "forced_bos_token_id",
        "forced_eos_token_id", "exponential_decay_length_penalty",
        # heads of other tasks
        "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type",
        "summary_use_proj",
    }
)  # fmt: skip

# A field whose name holds one of these speaks of another structure; unless empty or off it is refused.
MARKERS = (
    "expert", "moe", "router", "lora", "latent", "nope", "rope_head", "v_head", "qk_head", "window",
    "chunk", "sink", "shared", "cross", "mamba", "ssm", "conv", "linear", "lightning", "delta",
    "recurrent", "state", "hybrid", "pattern", "layer_types", "attn_type", "interval", "index_", "sparse",
    "vision", "visual", "audio", "encoder", "text_config", "tower", "nextn", "mtp", "draft", "softcap",
    "multi_query", "per_layer", "altup", "attn_config", "block_config", "laurel", "bidirectional",
)  # fmt: skip

# A count or width by its name: it would change work, so it is not ignored either.
SIZE_NAME = re.compile(
    r"^(num_|n_)|_(size|dim|dims|heads|layers|rank|width|channels|groups?|blocks?)$"
)


def speaks_of_structure(field: str) -> bool:
    """Whether a field's name announces a mechanism."""
    return any(marker in field.lower() for marker in MARKERS)


def names_a_size(field: str) -> bool:
    """Whether a field's name is that of a count or a width."""
    return SIZE_NAME.search(field.lower()) is not None
