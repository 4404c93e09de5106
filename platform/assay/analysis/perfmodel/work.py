"""Work of one forward step by operator, and by kind of layer: FLOPs, bytes of weights, state and
activations.

A model's stages are prepared once (``prepare``) and run for any step. An operator is the same stage of all
layers that have it: products with weights of one stage have one intensity whatever their shapes, so that
bounding their sum is bounding each. Norms, rotary embedding, activation functions, softmax and sampling
are left out of the FLOPs and named in ``NOT_COUNTED``.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.analysis.perfmodel.mixers.mixer import StatePart
from assay.analysis.perfmodel.operators import Operator, SequenceStep, merged
from assay.analysis.perfmodel.precision import dtype_bytes
from assay.analysis.perfmodel.quantization.weight_formats import WeightFormats
from assay.analysis.perfmodel.stages import Load, Mixing, Projection, Stage, lookup, sampling
from assay.analysis.perfmodel.state import StateClass, recurrent_answers, state_classes
from assay.analysis.perfmodel.structure import LayerKind, Structure
from assay.analysis.perfmodel.tensors import PlacedTensor, Tensor, TensorKind

NOT_COUNTED = (
    "FLOPs of norms, rotary embedding, activation functions, softmax, sampling and stop checks",
    "choosing the highest scores of a sparse index",
    "launch, synchronisation, scheduling and host time (they enter estimates, never bounds)",
    "waiting of dependent operators on one another, and of requests in a queue",
    "communication between devices in the bound of one device",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedModel:
    """Stages of each kind of layer, in serial order, and what lies around the layers."""

    structure: Structure
    kinds: tuple[tuple[LayerKind, tuple[Stage, ...]], ...]
    embedding_bytes: int
    tables: tuple[tuple[Tensor, int], ...]
    around: tuple[Projection, ...]
    head: Projection
    activation_width: int

    def load(self, sequences: Sequence[SequenceStep], *, replicas_on_experts: int = 1) -> Load:
        """A step of these sequences; ``replicas_on_experts`` of the same size share one set of experts."""
        counted = list(Counter(sequences).items())
        return self.load_of(counted, replicas_on_experts=replicas_on_experts)

    def load_of(
        self,
        counted: Sequence[tuple[SequenceStep, int]],
        *,
        replicas_on_experts: int = 1,
        experts_touched: float | None = None,
    ) -> Load:
        """A step of sequences that are already counted; ``experts_touched`` of a layer, if they were."""
        rows = sum(sequence.new * count for sequence, count in counted)
        return Load(
            sequences=counted,
            width=self.activation_width,
            expert_rows=rows * replicas_on_experts,
            experts_touched=experts_touched,
        )

    def decode_load(
        self,
        *,
        batch: int,
        context: int,
        replicas_on_experts: int = 1,
        experts_touched: float | None = None,
    ) -> Load:
        """``batch`` sequences with one new token over ``context`` stored ones."""
        return self.load_of(
            [(SequenceStep(new=1, stored=context), batch)],
            replicas_on_experts=replicas_on_experts,
            experts_touched=experts_touched,
        )

    def operators(self, load: Load, *, sampled: int) -> list[Operator]:
        """All operators of a step in serial order; head and sampling run on ``sampled`` rows only."""
        return [*self.entry(load), *self.inside(load), *self.exit(load, sampled=sampled)]

    def entry(self, load: Load) -> list[Operator]:
        """Rows of the embedding and of further tables, and products that stand before the layers."""
        embedding = self.structure.embedding
        tables = ((embedding, 0 if self.structure.tied else self.embedding_bytes), *self.tables)
        found = [
            lookup(tensor.stage, tensor, rows=load.rows, table_bytes=size, width=load.width)
            for tensor, size in tables
        ]
        return [*found, *(each.operator(load) for each in self.around)]

    def inside(self, load: Load) -> list[Operator]:
        """The stages of all layers, each stage once."""
        return merged(stage.operator(load) for _, stages in self.kinds for stage in stages)

    def exit(self, load: Load, *, sampled: int) -> list[Operator]:
        """Output head and sampling; a chunk that ends no prompt touches neither."""
        if not sampled:
            return []
        return [
            self.head.over(load, sampled),
            sampling(rows=sampled, vocabulary=self.structure.vocabulary),
        ]

    def by_kind(self, load: Load) -> list[tuple[LayerKind, list[Operator]]]:
        """The operators of all layers of each kind together."""
        return [
            (kind, merged(stage.operator(load) for stage in stages)) for kind, stages in self.kinds
        ]


def prepare(
    structure: Structure,
    *,
    formats: WeightFormats,
    kv_dtype: str,
    activation_dtype: str,
    recurrent_dtype: str | None = None,
    layers: range | None = None,
) -> PreparedModel:
    """The stages of a model with the bytes of its formats; ``layers`` keeps only those of one pipeline
    stage.

    Recurrent state of undeclared type counts as the smallest of its answers: bytes here enter bounds.
    """
    smallest = recurrent_dtype or min(
        recurrent_answers(structure).values(), key=lambda name: dtype_bytes(name, field="dtype")
    )
    classes = state_classes(structure, kv_dtype=kv_dtype, recurrent_dtype=smallest)
    by_part = {each.part: each for each in classes}
    head = structure.embedding if structure.tied else structure.head
    return PreparedModel(
        structure=structure,
        kinds=tuple(
            (kind, _stages(structure, kind, formats, by_part))
            for kind in _kinds_in(structure, layers)
        ),
        embedding_bytes=formats.bytes_of(PlacedTensor(tensor=structure.embedding)),
        tables=tuple(
            (tensor, formats.bytes_of(PlacedTensor(tensor=tensor)))
            for tensor in structure.outer
            if tensor.kind is TensorKind.TABLE
        ),
        around=tuple(
            Projection(
                name=tensor.stage,
                tensor=tensor,
                times=1,
                size=formats.bytes_of(PlacedTensor(tensor=tensor)),
            )
            for tensor in _matrices(structure.outer)
        ),
        head=Projection(
            name="head", tensor=head, times=1, size=formats.bytes_of(PlacedTensor(tensor=head))
        ),
        activation_width=dtype_bytes(activation_dtype, field="activation dtype"),
    )


def step_operators(
    structure: Structure,
    sequences: Sequence[SequenceStep],
    *,
    formats: WeightFormats,
    kv_dtype: str,
    activation_dtype: str,
    sampled: int,
    recurrent_dtype: str | None = None,
) -> list[Operator]:
    """The operators of one step in serial order; to run several steps of one model, ``prepare`` it."""
    prepared = prepare(
        structure,
        formats=formats,
        kv_dtype=kv_dtype,
        activation_dtype=activation_dtype,
        recurrent_dtype=recurrent_dtype,
    )
    return prepared.operators(prepared.load(sequences), sampled=sampled)


def _kinds_in(structure: Structure, layers: range | None) -> list[LayerKind]:
    """The kinds of layers with the positions that lie in ``layers``."""
    if layers is None:
        return list(structure.layer_kinds)
    found = [
        replace(kind, positions=tuple(p for p in kind.positions if p in layers))
        for kind in structure.layer_kinds
    ]
    return [kind for kind in found if kind.positions]


def _stages(
    structure: Structure,
    kind: LayerKind,
    formats: WeightFormats,
    by_part: dict[StatePart, StateClass],
) -> tuple[Stage, ...]:
    """Stages of one kind of layer; what a mixer mixes stands before its last matrix."""
    mixer, feed_forward, d_model = kind.layer.mixer, kind.layer.feed_forward, structure.d_model

    def projection(tensor: Tensor) -> Projection:
        placed = PlacedTensor(tensor=tensor, layers=kind.positions)
        return Projection(
            name=tensor.stage, tensor=tensor, times=kind.count, size=formats.bytes_of(placed)
        )

    own = [] if mixer is None else _matrices(mixer.tensors(d_model))
    held = () if mixer is None else mixer.state()
    parts = () if mixer is None else mixer.reads()
    rest = () if feed_forward is None else feed_forward.tensors(d_model)
    mixing = [
        Mixing(
            state=replace(
                by_part[part],
                layers=kind.count if part in held else 0,
                reading_layers=kind.count,
            )
        )
        for part in parts
    ]
    return (
        *(projection(tensor) for tensor in own[:-1]),
        *mixing,
        *(projection(tensor) for tensor in own[-1:]),
        *(projection(tensor) for tensor in _matrices(rest)),
    )


def _matrices(tensors: Sequence[Tensor]) -> list[Tensor]:
    return [tensor for tensor in tensors if tensor.kind is TensorKind.MATMUL]
