"""Models without any attention: Mamba and Mamba-2 in every layer, no feed-forward."""

from math import ceil

from assay.analysis.perfmodel.feed_forward.feed_forward import norm
from assay.analysis.perfmodel.mixers.mamba import Mamba
from assay.analysis.perfmodel.mixers.mamba2 import Mamba2
from assay.analysis.perfmodel.mixers.mixer import Mixer
from assay.analysis.perfmodel.reading.fields import Fields
from assay.analysis.perfmodel.reading.outline import Names, Outline, read_outline
from assay.analysis.perfmodel.structure import Layer, Structure

_OF_TRAINING = (
    "time_step_scale", "time_step_init_scheme", "chunk_size", "use_mambapy",
    "use_associative_scan", "norm_before_gate", "rms_norm", "fused_add_norm", "layer_norm_epsilon",
    "use_falcon_mambapy", "mixer_rms_eps", "d_inner", "d_model", "n_layer", "ssm_cfg",
    "pad_vocab_size_multiple",
)  # fmt: skip


def read_mamba(fields: Fields, family: str) -> Structure:
    outline = read_outline(fields, family, Names(tied_default=True))
    inner = _inner(fields, outline)
    rank = fields.value("time_step_rank")
    mixer = Mamba(
        inner=inner,
        d_state=fields.count("state_size", default=16),
        step_rank=ceil(outline.d_model / 16)
        if rank in (None, "auto")
        else fields.count("time_step_rank"),
        kernel=fields.count("conv_kernel", default=4),
        convolution_bias=fields.flag("use_conv_bias", default=True),
        projection_bias=fields.flag("use_bias"),
    )
    return _stacked(outline, mixer)


def read_mamba2(fields: Fields, family: str) -> Structure:
    outline = read_outline(fields, family)
    _inner(fields, outline)
    mixer = Mamba2(
        heads=fields.count("num_heads"),
        d_head=fields.count("head_dim"),
        d_state=fields.count("state_size", default=128),
        groups=fields.count("n_groups", default=8),
        kernel=fields.count("conv_kernel", default=4),
        convolution_bias=fields.flag("use_conv_bias", default=True),
        projection_bias=fields.flag("use_bias"),
    )
    return _stacked(outline, mixer)


def _inner(fields: Fields, outline: Outline) -> int:
    """Channels: ``expand`` x d_model, which ``intermediate_size`` repeats."""
    fields.without_effect(_OF_TRAINING)
    inner = fields.count("expand", default=2) * outline.d_model
    return fields.count("intermediate_size", default=inner)


def _stacked(outline: Outline, mixer: Mixer) -> Structure:
    layer = Layer(mixer=mixer, feed_forward=None, other=(norm("norm", outline.d_model),))
    return outline.structure(
        [layer] * outline.layers, outer=(norm("backbone.norm_f", outline.d_model),)
    )
