"""What each pipeline stage's rank holds: weights, state and the stages of work, for one layout.

Data-parallel replicas are alike, so one rank of each pipeline stage speaks for all. The first stage has
the embedding, the last one the head (a tied matrix lies in both) and what stands after the layers.
"""

from dataclasses import dataclass, replace

from assay.analysis.perfmodel.parallel.layout import Layout
from assay.analysis.perfmodel.parallel.pipeline import split_layers
from assay.analysis.perfmodel.parallel.shards import rank_structure
from assay.analysis.perfmodel.quantization.weight_formats import WeightFormats
from assay.analysis.perfmodel.state import StateClass, state_classes
from assay.analysis.perfmodel.structure import Structure
from assay.analysis.perfmodel.tensors import PlacedTensor, TensorKind
from assay.analysis.perfmodel.weights import placed_tensors
from assay.analysis.perfmodel.work import PreparedModel, prepare


@dataclass(frozen=True, slots=True, kw_only=True)
class RankStage:
    """One rank of one pipeline stage. ``classes`` are the kinds of state of its layers, cut to the rank."""

    layers: range
    first: bool
    last: bool
    weight_bytes: int
    classes: tuple[StateClass, ...]
    prepared: PreparedModel

    def state_bytes(self, tokens: int) -> int:
        """State of one sequence on this rank after ``tokens`` tokens."""
        return sum(each.resident_bytes(tokens) for each in self.classes)


def rank_stages(
    structure: Structure,
    layout: Layout,
    *,
    formats: WeightFormats,
    kv_dtype: str,
    activation_dtype: str,
) -> list[RankStage]:
    """One rank of every pipeline stage, in order."""
    rank = rank_structure(structure, layout)
    classes = state_classes(rank, kv_dtype=kv_dtype)
    parts = split_layers(len(structure.layers), stages=layout.pipeline)
    return [
        RankStage(
            layers=layers,
            first=number == 0,
            last=number == len(parts) - 1,
            weight_bytes=_weights(
                rank, formats, layers, first=number == 0, last=number == len(parts) - 1
            ),
            classes=tuple(_held(rank, each, layers) for each in classes),
            prepared=prepare(
                rank,
                formats=formats,
                kv_dtype=kv_dtype,
                activation_dtype=activation_dtype,
                layers=layers,
            ),
        )
        for number, layers in enumerate(parts)
    ]


def _weights(
    rank: Structure, formats: WeightFormats, layers: range, *, first: bool, last: bool
) -> int:
    """Bytes of the tensors of a stage: its layers' own, tables on the first, the rest on the last stage."""
    total = 0
    for placed in placed_tensors(rank):
        if placed.layers:
            here = tuple(layer for layer in placed.layers if layer in layers)
            total += formats.bytes_of(replace(placed, layers=here)) if here else 0
        elif _lies_here(placed, rank, first=first, last=last):
            total += formats.bytes_of(placed)
    return total


def _lies_here(placed: PlacedTensor, rank: Structure, *, first: bool, last: bool) -> bool:
    if placed.tensor == rank.embedding:
        return first or (last and rank.tied)
    return first if placed.tensor.kind is TensorKind.TABLE else last


def _held(rank: Structure, state: StateClass, layers: range) -> StateClass:
    """The class in the layers of one stage."""
    held = reading = 0
    for kind in rank.layer_kinds:
        mixer = kind.layer.mixer
        if mixer is None:
            continue
        here = sum(position in layers for position in kind.positions)
        held += here * (state.part in mixer.state())
        reading += here * (state.part in mixer.reads())
    return replace(state, layers=held, reading_layers=reading)
