"""One decode step of a model under a layout: what its busiest rank computes, and which messages it needs.

Bounds and estimates are made from the same operators, so that both speak of the same step.
"""

from dataclasses import dataclass

from assay.analysis.perfmodel.operators import Operator, SequenceStep
from assay.analysis.perfmodel.parallel.communication import step_messages
from assay.analysis.perfmodel.parallel.layout import Layout, refused
from assay.analysis.perfmodel.parallel.messages import Message
from assay.analysis.perfmodel.parallel.ranks import RankStage, rank_stages
from assay.analysis.perfmodel.quantization.declared import Declared
from assay.analysis.perfmodel.structure import Structure


@dataclass(frozen=True, slots=True, kw_only=True)
class LaidOut:
    """A model in a layout without a pipeline."""

    structure: Structure
    declared: Declared
    layout: Layout
    rank: RankStage

    def decode(
        self, *, batch: int, context: int, busy_replicas: int | None = None
    ) -> list[Operator]:
        """Operators of the busiest rank for ``batch`` sequences over all replicas.

        ``busy_replicas``: replicas that have a sequence; those share experts, the others send nothing.
        """
        busy = busy_replicas or self.layout.data
        rows = -(-batch // busy)
        sharing = max(1, self.layout.expert // self.layout.tensor)
        load = self.rank.prepared.decode_load(
            batch=rows, context=context, replicas_on_experts=min(sharing, busy)
        )
        return self.rank.prepared.operators(load, sampled=rows)

    def prompt(self, *, new: int, reused: int) -> list[Operator]:
        """Operators of one prompt that runs alone on its replica."""
        prepared = self.rank.prepared
        load = prepared.load_of([(SequenceStep(new=new, stored=reused), 1)])
        return prepared.operators(load, sampled=1)

    def held_bytes(self, *, sequences: int, context: int) -> int:
        """Weights of the rank and the state of its replica's sequences."""
        return self.rank.weight_bytes + sequences * self.rank.state_bytes(context)

    def messages(self, *, rows: int) -> list[Message]:
        """Messages of one step in which a replica runs ``rows`` tokens."""
        return step_messages(
            self.structure,
            self.layout,
            rows=rows,
            sampled=rows,
            element_bytes=self.rank.prepared.activation_width,
        )


def lay_out(structure: Structure, declared: Declared, layout: Layout) -> LaidOut:
    """The model cut to one rank of ``layout``; raises ModelRefused for a pipeline."""
    if layout.pipeline > 1:
        raise refused(
            "pipeline", layout.pipeline, "1 for one step of one rank", "Use parallel.step."
        )
    (rank,) = rank_stages(
        structure,
        layout,
        formats=declared.weights,
        kv_dtype=declared.kv_dtype,
        activation_dtype=declared.model_dtype,
    )
    return LaidOut(structure=structure, declared=declared, layout=layout, rank=rank)
