"""One decode step of a laid-out model: a bound for each stage's rank, the messages, and what they add up to.

A rate of several devices comes from the slowest rank's work and from communication. It is never the rate
of one device times their number: without links there is no rate.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.analysis.perfmodel.operators import Operator
from assay.analysis.perfmodel.parallel.communication import step_messages
from assay.analysis.perfmodel.parallel.layout import Layout, refused
from assay.analysis.perfmodel.parallel.messages import (
    Account,
    Link,
    Message,
    MessageTime,
    communication_s,
    message_times,
)
from assay.analysis.perfmodel.parallel.pipeline import PipelineTimes, pipeline_times
from assay.analysis.perfmodel.parallel.ranks import RankStage
from assay.analysis.perfmodel.roofs import DeviceRoofs
from assay.analysis.perfmodel.structure import Structure


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelStep:
    """A decode step of ``batch`` sequences over all replicas.

    ``micro_batch`` sequences run together on a stage, ``in_flight`` such groups go round.
    ``stage_bounds_s`` and ``pipeline`` need roofs; ``communication_s`` of one micro-batch needs a link for
    every message.
    """

    layout: Layout
    batch: int
    micro_batch: int
    in_flight: int
    stage_operators: tuple[tuple[Operator, ...], ...]
    stage_bounds_s: tuple[float, ...] | None
    messages: tuple[MessageTime, ...]
    communication_s: float | None
    pipeline: PipelineTimes | None


def decode_step(
    structure: Structure,
    stages: list[RankStage],
    layout: Layout,
    *,
    batch: int,
    context: int,
    roofs: DeviceRoofs | None,
    links: Mapping[Account, Link],
    experts_touched: float | None = None,
) -> ParallelStep:
    """The step of the busiest ranks: sequences are dealt to replicas, then to groups that go round.

    ``experts_touched`` of a layer, if they were counted, lie evenly on the ranks of an expert group.
    """
    replica = -(-batch // layout.data)
    in_flight = min(layout.pipeline, replica)
    micro = -(-replica // in_flight)
    operators = tuple(
        tuple(
            _stage_operators(
                stage, layout, batch=micro, context=context, experts_touched=experts_touched
            )
        )
        for stage in stages
    )
    messages = message_times(_messages(structure, layout, rows=micro, stages=stages), links)
    sent = communication_s(messages)
    bounds = None
    if roofs is not None:
        bounds = tuple(roofs.bound(each).seconds for each in operators)
    return ParallelStep(
        layout=layout,
        batch=batch,
        micro_batch=micro,
        in_flight=in_flight,
        stage_operators=operators,
        stage_bounds_s=bounds,
        messages=tuple(messages),
        communication_s=sent,
        pipeline=_pipeline(bounds, sent, in_flight=in_flight),
    )


def tokens_per_s_at_most(step: ParallelStep) -> float:
    """Tokens a second of all replicas, no faster than bounds and messages allow.

    Raises ModelRefused without roofs or where a message has no link: a single device's rate times the
    number of devices would leave out splitting, imbalance and communication.
    """
    if step.pipeline is None:
        raise refused(
            "rate of several devices",
            "a bound of one device" if step.stage_bounds_s else "no roofs",
            "roofs, and a link for every message of the layout",
            "Give the links' fixed times and bandwidths; device count times one rate is no answer.",
        )
    return step.micro_batch * step.layout.data / step.pipeline.pace_s


def _stage_operators(
    stage: RankStage,
    layout: Layout,
    *,
    batch: int,
    context: int,
    experts_touched: float | None,
) -> list[Operator]:
    load = stage.prepared.decode_load(
        batch=batch,
        context=context,
        replicas_on_experts=max(1, layout.expert // layout.tensor),
        experts_touched=None if experts_touched is None else experts_touched / layout.expert,
    )
    model = stage.prepared
    return [
        *(model.entry(load) if stage.first else []),
        *model.inside(load),
        *(model.exit(load, sampled=batch) if stage.last else []),
    ]


def _messages(
    structure: Structure, layout: Layout, *, rows: int, stages: list[RankStage]
) -> list[Message]:
    width = stages[0].prepared.activation_width
    return step_messages(structure, layout, rows=rows, sampled=rows, element_bytes=width)


def _pipeline(
    bounds: tuple[float, ...] | None, sent: float | None, *, in_flight: int
) -> PipelineTimes | None:
    """Stage times with an even share of the communication each."""
    if bounds is None or sent is None:
        return None
    share = sent / len(bounds)
    return pipeline_times([bound + share for bound in bounds], in_flight=in_flight)
