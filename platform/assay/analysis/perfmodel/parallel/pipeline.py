"""A pipeline's stages: which layers each has, how uneven they are, and what that costs.

The slowest stage sets the pace; a single batch passes all of them in turn, so that its latency is their sum.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.perfmodel.parallel.layout import refused


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineTimes:
    """Times of the stages in s. ``imbalance`` is the slowest over the mean, 1 when even.

    ``latency_s``: one batch through all stages. ``pace_s``: time between batches once all stages are busy,
    which needs as many batches in flight as stages. ``idle_share``: of stage time while ``in_flight``
    batches run.
    """

    stage_s: tuple[float, ...]
    imbalance: float
    latency_s: float
    pace_s: float
    in_flight: int
    idle_share: float


def split_layers(layers: int, *, stages: int) -> tuple[range, ...]:
    """Layers of each stage, as even as possible; the extra ones go before the last stage, which has the
    head.

    The rule of vLLM; another engine's own table is to be given where it differs.
    """
    if stages > layers:
        raise refused("pipeline", stages, f"at most {layers} layers", "Use fewer stages.")
    counts = [layers // stages] * stages
    for extra in range(layers % stages):
        counts[-2 - extra] += 1
    starts = [sum(counts[:i]) for i in range(stages)]
    return tuple(range(start, start + count) for start, count in zip(starts, counts, strict=True))


def pipeline_times(stage_s: Sequence[float], *, in_flight: int) -> PipelineTimes:
    """Latency, pace and idle share of stages with these times and ``in_flight`` batches going round.

    A batch that comes back decodes its next token, so with fewer batches than stages each round lasts the
    whole latency, and the pace is latency / in flight.
    """
    if in_flight < 1:
        raise refused("in_flight", in_flight, "at least 1", "At least one batch runs.")
    latency = sum(stage_s)
    pace = max(max(stage_s), latency / in_flight)
    return PipelineTimes(
        stage_s=tuple(stage_s),
        imbalance=max(stage_s) * len(stage_s) / latency,
        latency_s=latency,
        pace_s=pace,
        in_flight=in_flight,
        idle_share=1 - latency / (len(stage_s) * pace),
    )
