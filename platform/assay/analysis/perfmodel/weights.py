"""Weights: every tensor of the model, their parameters, and their bytes as stored or as executed.

The embedding comes first, then the layers' tensors (equal ones of several layers together), what lies around
the layers, and the output head unless it is tied to the embedding.
"""

from dataclasses import dataclass, replace

from assay.analysis.perfmodel.quantization.weight_formats import WeightFormats
from assay.analysis.perfmodel.structure import Structure
from assay.analysis.perfmodel.tensors import PlacedTensor, Tensor, TensorKind


def placed_tensors(structure: Structure) -> list[PlacedTensor]:
    """All tensors of the model, each once with the layers that have it; a tied head is the embedding."""
    layers: dict[Tensor, list[int]] = {}
    for kind in structure.layer_kinds:
        for tensor in kind.layer.tensors(structure.d_model):
            layers.setdefault(tensor, []).extend(kind.positions)
    inside = [PlacedTensor(tensor=tensor, layers=tuple(found)) for tensor, found in layers.items()]
    around = [*structure.outer, *(() if structure.tied else (structure.head,))]
    return [
        PlacedTensor(tensor=structure.embedding),
        *inside,
        *(PlacedTensor(tensor=tensor) for tensor in around),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterCounts:
    """All parameters, and those that one token runs through ("active") in the three senses in use.

    Active: all but the experts not chosen; of these, without the input embedding (and other tables of which a
    token reads one row, such as learned positions), and without the output head's matrix too. A tied matrix
    is the output head and stays in until then. ``without_*`` are the same of the total.
    """

    total: int
    without_input_embedding: int
    without_both_embeddings: int
    active_all: int
    active_without_input_embedding: int
    active_without_both_embeddings: int
    per_routed_expert: int | None


def count_parameters(structure: Structure) -> ParameterCounts:
    """Parameters of the text model; no quantization scales, no draft layers, no towers."""
    placed = placed_tensors(structure)
    total = sum(each.parameters for each in placed)
    active = sum(each.active_parameters for each in placed)
    looked_up = sum(each.parameters for each in _looked_up(structure))
    products = structure.embedding.elements  # the head's matrix, tied or not
    return ParameterCounts(
        total=total,
        without_input_embedding=total - looked_up,
        without_both_embeddings=total - looked_up - products,
        active_all=active,
        active_without_input_embedding=active - looked_up,
        active_without_both_embeddings=active - looked_up - products,
        per_routed_expert=_per_routed_expert(structure),
    )


def weight_bytes(structure: Structure, formats: WeightFormats) -> int:
    """Bytes of all weights, a tied embedding once."""
    return sum(formats.bytes_of(placed) for placed in placed_tensors(structure))


def weight_bytes_by_format(structure: Structure, formats: WeightFormats) -> dict[str, int]:
    """Bytes of all weights by the format they have: what a declaration excludes shows here."""
    found: dict[str, int] = {}
    for placed in placed_tensors(structure):
        for name, size in formats.bytes_by_format(placed).items():
            found[name] = found.get(name, 0) + size
    return found


def step_weight_bytes(structure: Structure, formats: WeightFormats, *, rows: int) -> int:
    """Weight bytes that one step reads from memory at least once, all experts included.

    All tensors but tables, of which only the looked-up rows are read (``rows`` tokens, at most the table's);
    a tied embedding is read whole as the output head. Assumes every weight is read exactly once in the step,
    without reuse from the step before.
    """
    total = weight_bytes(structure, formats)
    for placed in _looked_up(structure):
        table, height = formats.bytes_of(placed), placed.tensor.rows
        total -= table - table * min(rows, height) // height
    return total


def _looked_up(structure: Structure) -> list[PlacedTensor]:
    """Tables that are read by rows only: all but a tied embedding."""
    tables = [t for t in structure.outer if t.kind is TensorKind.TABLE]
    if not structure.tied:
        tables.append(structure.embedding)
    return [PlacedTensor(tensor=tensor) for tensor in tables]


def _per_routed_expert(structure: Structure) -> int | None:
    """Parameters of one expert of the first layer that has experts; None for a dense model."""
    for kind in structure.layer_kinds:
        routed = [t for t in kind.layer.tensors(structure.d_model) if t.chosen is not None]
        if routed:
            return sum(replace(tensor, copies=1).parameters for tensor in routed)
    return None
