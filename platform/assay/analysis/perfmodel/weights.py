"""Weights: every matrix and vector by name, their parameters, and their bytes as stored or as executed.

Parameters of one layer: q, k, v, o projections, gate, up, down, two norms (and per-head q/k norms, biases);
outside: embedding V x d, final norm, and the output head unless it is tied to the embedding.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil

from assay.analysis.perfmodel.precision import StoredFormat
from assay.analysis.perfmodel.structure import Structure


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightGroup:
    """``count`` equal tensors of ``rows`` x ``columns``; a vector has one row. ``matmul``: a projection."""

    name: str
    rows: int
    columns: int
    count: int
    matmul: bool

    @property
    def parameters(self) -> int:
        return self.rows * self.columns * self.count


def weight_groups(structure: Structure) -> list[WeightGroup]:
    """All tensors of the model, the tied embedding once (named ``embedding``)."""
    s, layers = structure, structure.layers
    groups = [_group("embedding", s.vocabulary, s.d_model, 1, matmul=False)]
    projections = [
        ("q_proj", s.q_width, s.d_model, s.qkv_bias),
        ("k_proj", s.kv_width, s.d_model, s.qkv_bias),
        ("v_proj", s.kv_width, s.d_model, s.qkv_bias),
        ("o_proj", s.d_model, s.q_width, s.output_bias),
        *([("gate_proj", s.d_ff, s.d_model, s.mlp_bias)] if s.gated else []),
        ("up_proj", s.d_ff, s.d_model, s.mlp_bias),
        ("down_proj", s.d_model, s.d_ff, s.mlp_bias),
    ]
    for name, rows, columns, bias in projections:
        groups.append(_group(name, rows, columns, layers, matmul=True))
        if bias:
            groups.append(_group(f"{name}.bias", 1, rows, layers, matmul=False))
    groups.append(_group("norm", 1, s.d_model, 2 * layers, matmul=False))
    if s.qk_norm:
        groups.append(_group("qk_norm", 1, s.d_head, 2 * layers, matmul=False))
    groups.append(_group("final_norm", 1, s.d_model, 1, matmul=False))
    if not s.tied:
        groups.append(_group("lm_head", s.vocabulary, s.d_model, 1, matmul=True))
    return groups


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterCounts:
    """Total, and what "active" may mean: all, without the input embedding, without both embeddings.

    A tied matrix is the output head, so that ``without_input_embedding`` equals the total then.
    """

    total: int
    without_input_embedding: int
    without_both_embeddings: int


def count_parameters(structure: Structure) -> ParameterCounts:
    """Parameters of the text model; no quantization scales."""
    total = sum(group.parameters for group in weight_groups(structure))
    table = structure.vocabulary * structure.d_model
    return ParameterCounts(
        total=total,
        without_input_embedding=total if structure.tied else total - table,
        without_both_embeddings=total - (1 if structure.tied else 2) * table,
    )


def group_bytes(group: WeightGroup, stored: StoredFormat) -> int:
    """Bytes of a group: elements x bits, plus scales per block along the columns (blocks never wrap)."""
    elements = group.rows * group.columns
    blocks = group.rows * ceil(group.columns / stored.block)
    metadata = blocks * (stored.scale_bits + stored.offset_bits) if stored.block > 1 else 0
    return group.count * (ceil(elements * stored.bits / 8) + metadata // 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightFormats:
    """Which stored format each weight group has.

    ``extra_bytes`` are further bytes of a group: indices, scales of tensors or tiles. ``kept`` is how many
    of its tensors stay in ``rest`` because the configuration excludes them.
    """

    of: Callable[[WeightGroup], StoredFormat]
    extra_bytes: Callable[[WeightGroup], int]
    label: str
    rest: StoredFormat
    kept: Callable[[WeightGroup], int]

    def bytes_of(self, group: WeightGroup) -> int:
        kept = self.kept(group)
        converted = replace(group, count=group.count - kept)
        size = group_bytes(converted, self.of(group)) + self.extra_bytes(converted)
        return size + group_bytes(replace(group, count=kept), self.rest)


def uniform(stored: StoredFormat) -> WeightFormats:
    """Every tensor in one format without extras, as a dequantizing engine executes them."""
    return by_group(lambda _: stored, label=stored.name)


def by_group(of: Callable[[WeightGroup], StoredFormat], *, label: str) -> WeightFormats:
    """A format for each group, nothing excluded, no extras."""
    return WeightFormats(
        of=of,
        extra_bytes=lambda _: 0,
        label=label,
        rest=StoredFormat(name="none", bits=0),
        kept=lambda _: 0,
    )


def weight_bytes(structure: Structure, formats: WeightFormats) -> int:
    """Bytes of all weights, a tied embedding once."""
    return sum(formats.bytes_of(group) for group in weight_groups(structure))


def step_weight_bytes(structure: Structure, formats: WeightFormats, *, rows: int) -> int:
    """Weight bytes that one step reads from memory at least once.

    All tensors but an untied input embedding, of which only the looked-up rows are read (``rows`` tokens, at
    most the vocabulary); a tied one is read whole as the output head. Assumes every weight is read exactly
    once in the step, without reuse from the step before.
    """
    groups = {group.name: group for group in weight_groups(structure)}
    total = sum(formats.bytes_of(g) for g in groups.values())
    if structure.tied:
        return total
    table = formats.bytes_of(groups["embedding"])
    return total - table + table * min(rows, structure.vocabulary) // structure.vocabulary


def _group(name: str, rows: int, columns: int, count: int, *, matmul: bool) -> WeightGroup:
    return WeightGroup(name=name, rows=rows, columns=columns, count=count, matmul=matmul)
