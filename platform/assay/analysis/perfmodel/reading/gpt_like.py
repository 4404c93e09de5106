"""Older decoders with names of their own: GPT-2, GPT-BigCode, Falcon, MPT, the first Qwen, ChatGLM.

Norms with shifts, feed-forwards without a gate, learned positions, KV heads under other names or implied by a
multi-query switch. q, k and v are one matrix in these checkpoints; parameters and work are the same apart.
"""

from dataclasses import replace

from assay.analysis.perfmodel.feed_forward.feed_forward import DenseFeedForward, norm
from assay.analysis.perfmodel.mixers.attention import Attention
from assay.analysis.perfmodel.reading.fields import Fields
from assay.analysis.perfmodel.reading.heads import divisor, kv_heads
from assay.analysis.perfmodel.reading.outline import Names, Outline, read_outline
from assay.analysis.perfmodel.reading.windows import declared_everywhere
from assay.analysis.perfmodel.structure import Layer, Structure
from assay.analysis.perfmodel.tensors import Tensor, TensorKind

_GPT2 = Names(
    tied_default=True,
    d_model=("n_embd", "hidden_size"),
    layers=("n_layer", "num_hidden_layers"),
    length=("n_positions", "n_ctx", "max_position_embeddings"),
)
_GPT2_HEADS = ("n_head", "num_attention_heads")


def read_gpt2(fields: Fields, family: str) -> Structure:
    """Biases everywhere, learned positions, one KV head per query head."""
    h = fields.count(*_GPT2_HEADS)
    return _learned_positions(read_outline(fields, family, _GPT2), h=h, h_kv=h)


def read_gpt_bigcode(fields: Fields, family: str) -> Structure:
    """As GPT-2, with one KV head when ``multi_query`` is on."""
    h = fields.count(*_GPT2_HEADS)
    h_kv = 1 if fields.flag("multi_query", default=True) else h
    return _learned_positions(read_outline(fields, family, _GPT2), h=h, h_kv=h_kv)


def read_gpt_neox(fields: Fields, family: str) -> Structure:
    """Biases throughout, one KV head per query head, an untied head."""
    outline = read_outline(fields, family)
    h, bias = fields.count("num_attention_heads"), fields.flag("attention_bias", default=True)
    fields.without_effect(("hidden_act", "use_parallel_residual", "classifier_dropout"))
    return _two_biased_norms(
        outline,
        _attention(outline, h=h, h_kv=h, qkv_bias=bias, output_bias=bias),
        DenseFeedForward(width=fields.count("intermediate_size"), gated=False, bias=True),
    )


def read_starcoder2(fields: Fields, family: str) -> Structure:
    """Grouped heads, biases by ``use_bias``, a window in every layer where one is declared."""
    outline = read_outline(fields, family, Names(tied_default=True))
    h, bias = fields.count("num_attention_heads"), fields.flag("use_bias", default=True)
    h_kv = kv_heads(fields, h=h, layers=1)[0]
    fields.without_effect(
        ("hidden_act", "norm_epsilon", "residual_dropout", "embedding_dropout", "mlp_type")
    )
    reach = declared_everywhere(fields, outline.layers)[0]
    mixer = _attention(outline, h=h, h_kv=h_kv, qkv_bias=bias, output_bias=bias)
    return _two_biased_norms(
        outline,
        replace(mixer, span=reach.span, window=reach.window),
        DenseFeedForward(width=fields.count("intermediate_size"), gated=False, bias=bias),
    )


def read_falcon(fields: Fields, family: str) -> Structure:
    """KV heads: ``num_kv_heads`` in the new architecture, one under ``multi_query``, else one per head."""
    names = Names(
        tied_default=True,
        layers=("num_hidden_layers", "n_layer"),
        length=("max_position_embeddings",),
    )
    outline = read_outline(fields, family, names)
    h = fields.count("num_attention_heads", "n_head")
    new, multi_query = (
        fields.flag("new_decoder_architecture"),
        fields.flag("multi_query", default=True),
    )
    kv = fields.optional_count("num_kv_heads", "n_head_kv")
    h_kv = (kv or h) if new else 1 if multi_query else h
    divisor(fields, "num_kv_heads", h=h, h_kv=h_kv)
    bias, parallel = fields.flag("bias"), fields.flag("parallel_attn", default=True)
    in_layer = fields.count("num_ln_in_parallel_attn", default=2 if new else 1)
    norms = ("ln_attn", "ln_mlp") if parallel and in_layer == 2 else ("input_layernorm",)
    if not parallel:
        norms = ("input_layernorm", "post_attention_layernorm")
    layer = Layer(
        mixer=_attention(outline, h=h, h_kv=h_kv, qkv_bias=bias, output_bias=bias),
        feed_forward=DenseFeedForward(
            width=fields.count("ffn_hidden_size", default=4 * outline.d_model),
            gated=False,
            bias=bias,
        ),
        other=tuple(norm(name, outline.d_model, bias=True) for name in norms),
    )
    return outline.structure(
        [layer] * outline.layers,
        outer=(norm("transformer.ln_f", outline.d_model, bias=True),),
    )


def read_mpt(fields: Fields, family: str) -> Structure:
    """Learned positions only without ALiBi; norms and matrices without bias under ``no_bias``."""
    names = Names(
        tied_default=True, d_model=("d_model",), layers=("n_layers",), length=("max_seq_len",)
    )
    outline = read_outline(fields, family, names)
    attention = fields.section("attn_config") or Fields({}, path="attn_config.")
    h = fields.count("n_heads")
    h_kv = attention.count("kv_n_heads", default=h)
    divisor(fields, "attn_config.kv_n_heads", h=h, h_kv=h_kv)
    positions = fields.flag("learned_pos_emb", default=True) and not attention.flag("alibi")
    attention.one_of("attn_type", ("multihead_attention", "grouped_query_attention"))
    if attention.flag("qk_ln"):
        raise attention.refused("qk_ln", True, "false")
    attention.without_effect(
        (
            "alibi_bias_max",
            "attn_impl",
            "attn_pdrop",
            "attn_uses_sequence_id",
            "prefix_lm",
            "softmax_scale",
        )
    )
    biased = not fields.flag("no_bias", default=True)
    layer = Layer(
        mixer=_attention(outline, h=h, h_kv=h_kv, qkv_bias=biased, output_bias=biased),
        feed_forward=DenseFeedForward(
            width=fields.count("expansion_ratio", default=4) * outline.d_model,
            gated=False,
            bias=biased,
        ),
        other=tuple(norm(name, outline.d_model, bias=biased) for name in ("norm_1", "norm_2")),
    )
    outline.omitted.extend(attention.left_over())
    table = (_positions("transformer.wpe", outline),) if positions else ()
    return outline.structure(
        [layer] * outline.layers,
        outer=(*table, norm("transformer.norm_f", outline.d_model, bias=biased)),
    )


def read_qwen(fields: Fields, family: str) -> Structure:
    """The first Qwen: ``intermediate_size`` is the sum of two projections; q, k and v have biases always."""
    outline = read_outline(fields, family, Names(length=("seq_length", "max_position_embeddings")))
    h = fields.count("num_attention_heads")
    both = fields.count("intermediate_size")
    fields.without_effect(("no_bias",))
    layer = Layer(
        mixer=_attention(outline, h=h, h_kv=h, qkv_bias=True, output_bias=False),
        feed_forward=DenseFeedForward(width=both // 2),
        other=(norm("ln_1", outline.d_model), norm("ln_2", outline.d_model)),
    )
    return outline.structure(
        [layer] * outline.layers,
        outer=(norm("transformer.ln_f", outline.d_model),),
    )


def read_chatglm(fields: Fields, family: str) -> Structure:
    """KV heads in ``multi_query_group_num``, the vocabulary in ``padded_vocab_size``; feed-forward gated."""
    names = Names(
        layers=("num_layers", "num_hidden_layers"),
        vocabulary=("padded_vocab_size",),
        length=("seq_length",),
    )
    outline = read_outline(fields, family, names)
    h = fields.count("num_attention_heads")
    grouped = fields.flag("multi_query_attention")
    groups = fields.count("multi_query_group_num", default=h)
    h_kv = groups if grouped else h
    divisor(fields, "multi_query_group_num", h=h, h_kv=h_kv)
    linear_bias = fields.flag("add_bias_linear")
    qkv_bias = fields.flag("add_qkv_bias") or linear_bias
    layer = Layer(
        mixer=_attention(outline, h=h, h_kv=h_kv, qkv_bias=qkv_bias, output_bias=linear_bias),
        feed_forward=DenseFeedForward(width=fields.count("ffn_hidden_size"), bias=linear_bias),
        other=(
            norm("input_layernorm", outline.d_model),
            norm("post_attention_layernorm", outline.d_model),
        ),
    )
    return outline.structure(
        [layer] * outline.layers,
        outer=(norm("transformer.encoder.final_layernorm", outline.d_model),),
    )


def _two_biased_norms(
    outline: Outline, mixer: Attention, feed_forward: DenseFeedForward
) -> Structure:
    names = ("input_layernorm", "post_attention_layernorm")
    norms = tuple(norm(name, outline.d_model, bias=True) for name in names)
    layer = Layer(mixer=mixer, feed_forward=feed_forward, other=norms)
    return outline.structure(
        [layer] * outline.layers, outer=(norm("final_layer_norm", outline.d_model, bias=True),)
    )


def _learned_positions(outline: Outline, *, h: int, h_kv: int) -> Structure:
    fields, d_model = outline.fields, outline.d_model
    fields.without_effect(("activation_function",))
    layer = Layer(
        mixer=_attention(outline, h=h, h_kv=h_kv, qkv_bias=True, output_bias=True),
        feed_forward=DenseFeedForward(
            width=fields.count("n_inner", default=4 * d_model), gated=False, bias=True
        ),
        other=(norm("ln_1", d_model, bias=True), norm("ln_2", d_model, bias=True)),
    )
    return outline.structure(
        [layer] * outline.layers,
        outer=(
            _positions("transformer.wpe", outline),
            norm("transformer.ln_f", d_model, bias=True),
        ),
    )


def _attention(
    outline: Outline, *, h: int, h_kv: int, qkv_bias: bool, output_bias: bool
) -> Attention:
    fields = outline.fields
    if outline.d_model % h:
        raise fields.refused("hidden_size", outline.d_model, f"a multiple of {h} heads")
    d_head = fields.count("head_dim", "kv_channels", default=outline.d_model // h)
    return Attention(
        h=h, h_kv=h_kv, d_k=d_head, d_v=d_head, qkv_bias=qkv_bias, output_bias=output_bias
    )


def _positions(module: str, outline: Outline) -> Tensor:
    """A learned vector for each position up to the model's length."""
    if outline.max_length is None:
        raise outline.fields.refused("max_position_embeddings", "absent", "the learned positions")
    return Tensor(
        module=module, rows=outline.max_length, columns=outline.d_model, kind=TensorKind.TABLE
    )
