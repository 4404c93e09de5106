"""Gemma 3n: shared K and V, an embedding for every layer, and two more low-rank ways through a layer.

AltUp keeps several copies of the residual stream, mixed by small matrices; LAuReL is a low-rank residual. K
and V of later layers are those of the last own layer of the same kind.
"""

from dataclasses import dataclass, replace

from assay.analysis.perfmodel.feed_forward.feed_forward import (
    DenseFeedForward,
    PerLayerInput,
    Together,
    norm,
)
from assay.analysis.perfmodel.mixers.attention import HeadNorm
from assay.analysis.perfmodel.reading import windows
from assay.analysis.perfmodel.reading.fields import Fields
from assay.analysis.perfmodel.reading.gemma import per_layer_tables, shared_from
from assay.analysis.perfmodel.reading.heads import gated
from assay.analysis.perfmodel.reading.llama_like import FOUR_NORMS, Facts, attention_layers
from assay.analysis.perfmodel.reading.outline import Names, read_outline
from assay.analysis.perfmodel.structure import Layer, Structure
from assay.analysis.perfmodel.tensors import Tensor

_PERIOD = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelStreams:
    """AltUp over ``streams`` copies of the residual, and LAuReL of ``rank``."""

    streams: int
    rank: int

    @property
    def kind(self) -> str:
        return "altup+laurel"

    def tensors(self, d_model: int) -> tuple[Tensor, ...]:
        n = self.streams
        sides = [
            ("altup.correction_coefs", n, n), ("altup.prediction_coefs", n * n, n),
            ("altup.modality_router", n, d_model), ("laurel.linear_left", self.rank, d_model),
            ("laurel.linear_right", d_model, self.rank),
        ]  # fmt: skip
        vectors = ("altup.correct_output_scale", "altup.router_norm", "laurel.post_laurel_norm")
        return (
            *(Tensor(module=module, rows=rows, columns=columns) for module, rows, columns in sides),
            *(norm(module, d_model) for module in vectors),
        )


def read_gemma3n(fields: Fields, family: str) -> Structure:
    gated(fields)
    fields.without_effect(
        (
            "activation_sparsity_pattern",
            "altup_active_idx",
            "altup_coef_clip",
            "altup_correct_scale",
        )
    )
    outline = read_outline(fields, family, Names(tied_default=True))
    facts = Facts(
        head_norm=HeadNorm.PER_HEAD,
        reach=lambda f, layers: windows.alternating(f, layers, period=_PERIOD),
    )
    mixers = shared_from(fields, attention_layers(outline, facts))
    side, streams = fields.count("hidden_size_per_layer_input"), fields.count("altup_num_inputs")
    beside = (
        ParallelStreams(streams=streams, rank=fields.count("laurel_rank")),
        PerLayerInput(width=side),
    )
    norms = tuple(norm(name, outline.d_model) for name in FOUR_NORMS)
    widths = fields.per_layer("intermediate_size", layers=outline.layers)
    layers = [
        Layer(
            mixer=mixer,
            feed_forward=Together(parts=(DenseFeedForward(width=width), *beside)),
            other=norms,
        )
        for mixer, width in zip(mixers, widths, strict=True)
    ]
    square = Tensor(
        module="model.altup_projections", rows=outline.d_model, columns=outline.d_model,
        copies=streams - 1,
    )  # fmt: skip
    return outline.structure(
        layers,
        outer=(
            *per_layer_tables(outline, side),
            square,
            replace(square, module="model.altup_unembed_projections"),
        ),
    )
