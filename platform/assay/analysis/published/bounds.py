"""The lower bound of each row's step, under the row's own layout, precision, batch and context.

The published "sanity" bound is (matrices + K/V read) / (devices x peak bandwidth). Ours is the serial bound
of one rank: every operator the larger of its two roofs, with the rows of the input table, the written K/V,
K/V heads as they are replicated, and a vocabulary that is cut in whole rows.
"""

from dataclasses import dataclass, replace

from assay.analysis.perfmodel.claim import Claim, check_claim
from assay.analysis.perfmodel.operators import SequenceStep, total_useful_flops
from assay.analysis.perfmodel.parallel.laid_out import LaidOut
from assay.analysis.perfmodel.parallel.layout import Layout
from assay.analysis.perfmodel.roofs import DeviceRoofs
from assay.analysis.published.models import Configs, bound_model
from assay.analysis.published.rows import Judged, Row

LEAST_CONTEXT = 1
WITH_STATE = "weights and state"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowBound:
    """``bound_s`` and ``measured_s`` of the same step; ``step`` says which one it is."""

    bound_s: float
    measured_s: float
    verdict: str
    reason: str
    step: str

    @property
    def ratio(self) -> float:
        return self.bound_s / self.measured_s


def row_bound(row: Row, configs: Configs) -> RowBound | None:
    """The bound that the row can be held against; None where nothing is timed."""
    if row.judged is Judged.prefill_rate:
        return _prefill(row, configs)
    if row.judged not in (Judged.decode_step, Judged.token_interval, Judged.rate):
        return None
    model, roofs = bound_model(row, configs)
    if row.batch is None:
        return _largest_batch(row, model, roofs)
    measured_s = row.measured_s
    if measured_s is None:
        return None
    claim = Claim(
        step_s=measured_s,
        batch=row.batch,
        context=row.context or LEAST_CONTEXT,
        busy_replicas=row.load.busy_replicas,
    )
    checked = check_claim(claim, model, roofs)
    return RowBound(
        bound_s=checked.bound_s,
        measured_s=measured_s,
        verdict=checked.verdict,
        reason=checked.reason,
        step="decode step of the row's batch and context",
    )


def _largest_batch(row: Row, model: LaidOut, roofs: DeviceRoofs) -> RowBound:
    """A rate whose batch is not stated: no batch is faster than the largest one that fits.

    The rate of a memory-bound step grows with its batch. Prompts count with their FLOPs only, since their
    traffic may ride on decode steps.
    """
    load, layout = row.load, model.layout
    context = row.context or LEAST_CONTEXT
    room = (roofs.memory_bytes or 0) - model.rank.weight_bytes
    sequences = room // model.rank.state_bytes(context)
    decode = model.decode(batch=sequences * layout.data, context=context)
    flops: float = total_useful_flops(decode)
    if load.new and load.output:
        prompt = total_useful_flops(model.prompt(new=load.new, reused=load.reused))
        flops += prompt * sequences / load.output
    bound_s = max(roofs.bound(decode).seconds, flops / roofs.flops_per_s)
    rate = row.measured["tokens_per_s_per_device"] * layout.devices
    measured_s = sequences * layout.data / rate
    return RowBound(
        bound_s=bound_s,
        measured_s=measured_s,
        verdict="not contradicted" if bound_s <= measured_s else "contradicted",
        reason=f"{sequences} sequences a replica fit at most",
        step="decode step of the largest batch that fits, with its share of prompts",
    )


def _prefill(row: Row, configs: Configs) -> RowBound:
    """Prompts of unknown length: as many of one token, so that no attention between tokens counts."""
    model, roofs = bound_model(row, configs)
    tokens = row.load.prompt_tokens or 0
    prepared = model.rank.prepared
    load = prepared.load_of([(SequenceStep(new=1, stored=0), tokens)])
    bound_s = roofs.bound(prepared.operators(load, sampled=1)).seconds
    measured_s = tokens / (row.measured["prompt_tokens_per_s_per_device"] * row.layout.devices)
    return RowBound(
        bound_s=bound_s,
        measured_s=measured_s,
        verdict="not contradicted" if bound_s <= measured_s else "contradicted",
        reason=f"the bound is {bound_s / measured_s:.0%} of the measured time",
        step=f"{tokens} prompt tokens without attention between them",
    )


def sanity_bound_s(row: Row, configs: Configs) -> float:
    """The published form: matrices, and stored K/V where its author counts them, over the peak bandwidth of
    all devices, of one undivided model."""
    model, roofs = bound_model(replace(row, layout=Layout()), configs)
    operators = model.decode(batch=row.batch or 1, context=row.context or LEAST_CONTEXT)
    matrices = sum(o.weight_bytes for o in operators if o.kind == "matmul")
    stored = sum(o.state_read_bytes for o in operators)
    counted = matrices + (stored if row.published_bound_counts == WITH_STATE else 0)
    return counted / (row.layout.devices * roofs.bandwidth_bytes_per_s)
