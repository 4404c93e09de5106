"""T5: the decoder is read; the encoder, and K and V made from its output, are named as not modelled."""

from assay.analysis.perfmodel.feed_forward.feed_forward import DenseFeedForward, norm
from assay.analysis.perfmodel.mixers.attention import Attention
from assay.analysis.perfmodel.mixers.cross_attention import CrossAttention
from assay.analysis.perfmodel.mixers.side_by_side import SideBySide
from assay.analysis.perfmodel.reading.fields import Fields
from assay.analysis.perfmodel.reading.outline import Names, read_outline
from assay.analysis.perfmodel.structure import Layer, Structure

_NORMS = ("layer.0.layer_norm", "layer.1.layer_norm", "layer.2.layer_norm")
_ACTIVATIONS = ("relu", "gated-gelu", "gated-silu")


def read_t5(fields: Fields, family: str) -> Structure:
    """Positions are a table of buckets by head in the first layer."""
    names = Names(
        tied_default=True,
        d_model=("d_model", "hidden_size"),
        layers=("num_decoder_layers" if fields.has("num_decoder_layers") else "num_layers",),
        length=("n_positions",),
    )
    fields.without_effect(
        ("is_encoder_decoder", "num_layers", "relative_attention_max_distance", "dropout_rate",
         "classifier_dropout", "initializer_factor", "dense_act_fn", "is_gated_act", "decoder_start_token_id")
    )  # fmt: skip
    outline = read_outline(fields, family, names)
    h, d_head = fields.count("num_heads"), fields.count("d_kv")
    activation = fields.one_of("feed_forward_proj", _ACTIVATIONS) or "relu"
    layer = Layer(
        mixer=SideBySide(
            mixers=(
                Attention(h=h, h_kv=h, d_k=d_head, d_v=d_head),
                CrossAttention(h=h, d_head=d_head),
            )
        ),
        feed_forward=DenseFeedForward(
            width=fields.count("d_ff"), gated=activation.startswith("gated")
        ),
        other=tuple(norm(name, outline.d_model) for name in _NORMS),
    )
    buckets = fields.count("relative_attention_num_buckets", default=32)
    outline.omitted.extend(
        (
            "encoder: not modelled, the decoder alone is",
            "cross-attention K and V: made once from the encoder's output; not modelled",
        )
    )
    return outline.structure(
        [layer] * outline.layers,
        outer=(
            norm("decoder.relative_attention_bias", buckets * h),
            norm("decoder.final_layer_norm", outline.d_model),
        ),
    )
