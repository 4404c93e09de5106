"""Jamba (Mamba between attention, experts by period) and Falcon-H1 (attention and Mamba-2 side by side)."""

from math import ceil

from assay.analysis.perfmodel.feed_forward.feed_forward import DenseFeedForward, Experts, norm
from assay.analysis.perfmodel.mixers.attention import Attention
from assay.analysis.perfmodel.mixers.mamba import Mamba
from assay.analysis.perfmodel.mixers.mamba2 import Mamba2
from assay.analysis.perfmodel.mixers.side_by_side import SideBySide
from assay.analysis.perfmodel.reading.fields import Fields
from assay.analysis.perfmodel.reading.heads import gated, head_width, kv_heads
from assay.analysis.perfmodel.reading.outline import Outline, read_outline
from assay.analysis.perfmodel.structure import Layer, Structure

_MULTIPLIERS = (
    "lm_head_multiplier", "embedding_multiplier", "mlp_multipliers", "key_multiplier",
    "attention_out_multiplier", "attention_in_multiplier", "ssm_multipliers", "ssm_in_multiplier",
    "ssm_out_multiplier", "mamba_norm_before_gate", "mamba_use_mlp",
    "layers_block_type", "mamba_expand", "attn_layer_indices", "mlp_expansion_factor",
)  # fmt: skip


def read_jamba(fields: Fields, family: str) -> Structure:
    gated(fields)
    outline = read_outline(fields, family)
    attention, mamba = _attention(outline, bias=False), _mamba(outline)
    plain = DenseFeedForward(width=fields.count("intermediate_size"), module="feed_forward")
    experts = Experts(
        experts=fields.count("num_experts"),
        chosen=fields.count("num_experts_per_tok"),
        width=plain.width,
        module="feed_forward",
        router="router",
    )
    full, sparse = _every(fields, "attn_layer"), _every(fields, "expert_layer")
    norms = (norm("input_layernorm", outline.d_model), norm("pre_ff_layernorm", outline.d_model))
    return outline.structure(
        [
            Layer(
                mixer=attention if i % full[0] == full[1] else mamba,
                feed_forward=experts
                if i % sparse[0] == sparse[1] and experts.experts > 1
                else plain,
                other=norms,
            )
            for i in range(outline.layers)
        ],
        outer=(norm("model.final_layernorm", outline.d_model),),
    )


def read_falcon_h1(fields: Fields, family: str) -> Structure:
    gated(fields)
    fields.without_effect(_MULTIPLIERS)
    outline = read_outline(fields, family)
    both = SideBySide(
        mixers=(_attention(outline, bias=fields.flag("attention_bias")), _mamba2(outline))
    )
    layer = Layer(
        mixer=both,
        feed_forward=DenseFeedForward(
            width=fields.count("intermediate_size"),
            bias=fields.flag("mlp_bias"),
            module="feed_forward",
        ),
        other=(norm("input_layernorm", outline.d_model), norm("pre_ff_layernorm", outline.d_model)),
    )
    return outline.structure(
        [layer] * outline.layers, outer=(norm("model.final_layernorm", outline.d_model),)
    )


def _every(fields: Fields, name: str) -> tuple[int, int]:
    return fields.count(f"{name}_period"), fields.amount(f"{name}_offset")


def _attention(outline: Outline, *, bias: bool) -> Attention:
    fields = outline.fields
    h = fields.count("num_attention_heads")
    d_head = head_width(fields, d_model=outline.d_model, h=h, remarks=outline.remarks)
    h_kv = kv_heads(fields, h=h, layers=1)[0]
    return Attention(h=h, h_kv=h_kv, d_k=d_head, d_v=d_head, qkv_bias=bias, output_bias=bias)


def _mamba(outline: Outline) -> Mamba:
    fields, d_model = outline.fields, outline.d_model
    rank = fields.value("mamba_dt_rank")
    return Mamba(
        inner=fields.count("mamba_expand", default=2) * d_model,
        d_state=fields.count("mamba_d_state"),
        step_rank=ceil(d_model / 16) if rank in (None, "auto") else fields.count("mamba_dt_rank"),
        kernel=fields.count("mamba_d_conv"),
        convolution_bias=fields.flag("mamba_conv_bias", default=True),
        projection_bias=fields.flag("mamba_proj_bias"),
        inner_norms=True,
    )


def _mamba2(outline: Outline) -> Mamba2:
    fields = outline.fields
    heads = fields.count("mamba_n_heads")
    inner = fields.count("mamba_d_ssm", default=2 * outline.d_model)
    width = fields.value("mamba_d_head")
    return Mamba2(
        heads=heads,
        d_head=inner // heads if width in (None, "auto") else fields.count("mamba_d_head"),
        d_state=fields.count("mamba_d_state"),
        groups=fields.count("mamba_n_groups"),
        kernel=fields.count("mamba_d_conv"),
        convolution_bias=fields.flag("mamba_conv_bias", default=True),
        projection_bias=fields.flag("mamba_proj_bias"),
        gated_norm=fields.flag("mamba_rms_norm"),
        module="mamba",
        block=fields.optional_count("mamba_chunk_size") or 256,
    )
