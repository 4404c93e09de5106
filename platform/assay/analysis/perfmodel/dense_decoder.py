"""A decoder whose layers are all alike: softmax attention over all tokens and one feed-forward.

The form of llama, mistral, qwen2, qwen3 and phi3, and of the ``artifact.config`` of a RunSpec.
"""

from assay.analysis.perfmodel.feed_forward.feed_forward import DenseFeedForward, norm
from assay.analysis.perfmodel.mixers.attention import Attention, HeadNorm
from assay.analysis.perfmodel.structure import Layer, Structure


def dense_decoder(
    *,
    family: str,
    layers: int,
    d_model: int,
    vocabulary: int,
    attention: Attention,
    feed_forward: DenseFeedForward,
    tied: bool,
    max_length: int | None = None,
    declared_dtype: str | None = None,
    assumptions: tuple[str, ...] = (),
    not_modelled: tuple[str, ...] = (),
) -> Structure:
    """``layers`` equal blocks with two norms each, and a final norm."""
    layer = Layer(
        mixer=attention,
        feed_forward=feed_forward,
        other=(norm("input_layernorm", d_model), norm("post_attention_layernorm", d_model)),
    )
    return Structure(
        family=family,
        d_model=d_model,
        vocabulary=vocabulary,
        layers=(layer,) * layers,
        tied=tied,
        outer=(norm("model.norm", d_model),),
        max_length=max_length,
        declared_dtype=declared_dtype,
        assumptions=assumptions,
        not_modelled=not_modelled,
    )


def plain_attention(
    *, h: int, h_kv: int, d_head: int, qkv_bias: bool, output_bias: bool, qk_norm: bool
) -> Attention:
    """Attention over all tokens with K and V of one width."""
    return Attention(
        h=h,
        h_kv=h_kv,
        d_k=d_head,
        d_v=d_head,
        qkv_bias=qkv_bias,
        output_bias=output_bias,
        head_norm=HeadNorm.PER_HEAD if qk_norm else HeadNorm.NONE,
    )
