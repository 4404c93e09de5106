"""A layout as the answer lists it: each stage's rank, the messages in three accounts, and what follows at
most."""

from dataclasses import asdict
from typing import Any

from assay.analysis.perfmodel.answer.asked import Asked
from assay.analysis.perfmodel.engine_budget import granted_blocks
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.parallel.communication import ASSUMPTIONS
from assay.analysis.perfmodel.parallel.messages import (
    MessageTime,
    bytes_by_account,
    message_times,
    state_transfer,
)
from assay.analysis.perfmodel.parallel.ranks import RankStage, rank_stages
from assay.analysis.perfmodel.parallel.step import (
    ParallelStep,
    decode_step,
    tokens_per_s_at_most,
)
from assay.analysis.perfmodel.quantization.weight_formats import WeightFormats
from assay.analysis.perfmodel.roofs import DeviceRoofs
from assay.analysis.perfmodel.structure import Structure


def parallel_answer(
    structure: Structure,
    asked: Asked,
    *,
    formats: WeightFormats,
    kv_dtype: str,
    activation_dtype: str,
    roofs: DeviceRoofs | None,
) -> dict[str, Any]:
    """The asked decode step under the asked layout; one device is a layout as well."""
    layout = asked.layout
    stages = rank_stages(
        structure, layout, formats=formats, kv_dtype=kv_dtype, activation_dtype=activation_dtype
    )
    step = decode_step(
        structure,
        stages,
        layout,
        batch=asked.batch,
        context=asked.context,
        roofs=roofs,
        links=asked.links,
        experts_touched=asked.experts_touched,
    )
    rate, missing = _rate(step)
    return {
        "layout": {**asdict(layout), "devices": layout.devices},
        "ranks": [_rank(i, stages[i], step, asked, roofs) for i in range(len(stages))],
        "messages": [_message(each) for each in step.messages],
        "bytes_by_account": {
            account.value: size
            for account, size in bytes_by_account([m.message for m in step.messages]).items()
        },
        "links": {account.value: asdict(link) for account, link in asked.links.items()},
        "communication_s": step.communication_s,
        "micro_batch": step.micro_batch,
        "in_flight": step.in_flight,
        "pipeline": None if step.pipeline is None else asdict(step.pipeline),
        "tokens_per_s_at_most": rate,
        "missing": missing,
        "state_transfer": _state_transfer(stages, asked),
        "assumptions": list(ASSUMPTIONS),
    }


def _rank(
    number: int, stage: RankStage, step: ParallelStep, asked: Asked, roofs: DeviceRoofs | None
) -> dict[str, Any]:
    """The busiest rank of one stage; its memory is compared with its own device, never with a sum of
    devices."""
    per_sequence = stage.state_bytes(asked.context)
    sequences = -(-asked.batch // step.layout.data)
    held = stage.weight_bytes + sequences * per_sequence
    size = roofs.memory_bytes if roofs else None
    return {
        "stage": number,
        "layers": [stage.layers.start, stage.layers.stop - 1],
        "weight_bytes": stage.weight_bytes,
        "state_bytes_per_sequence": per_sequence,
        "sequences": sequences,
        "known_bytes": held,
        "headroom_bytes": None if size is None else size - held,
        "granted_blocks": _granted(stage, asked, size),
        "bound_s": None if step.stage_bounds_s is None else step.stage_bounds_s[number],
        "flops": sum(o.useful_flops for o in step.stage_operators[number]),
        "bytes": sum(o.bytes for o in step.stage_operators[number]),
    }


def _granted(stage: RankStage, asked: Asked, size: int | None) -> int | None:
    """KV blocks that the asked engine would grant on this rank; None without a setting or growing state."""
    per_token = sum(c.bytes_per_token for c in stage.classes if c.growth == "linear")
    if asked.engine is None or not per_token:
        return None
    budget = asked.engine.budget(device_bytes=size, weight_bytes=stage.weight_bytes)
    if budget is None:
        return None
    return granted_blocks(budget, bytes_per_token=per_token, block_tokens=asked.engine.block_tokens)


def _state_transfer(stages: list[RankStage], asked: Asked) -> dict[str, Any]:
    """What one prompt's state costs if prefill and decode run on different instances; not part of a step."""
    size = sum(stage.state_bytes(asked.context) for stage in stages)
    (timed,) = message_times([state_transfer(state_bytes=size, requests_per_step=1)], asked.links)
    return {**_message(timed), "of": "one rank of every stage, one prompt"}


def _message(timed: MessageTime) -> dict[str, Any]:
    message = timed.message
    return {
        **asdict(message),
        "moved_bytes": message.moved_bytes,
        "bytes_per_step": message.bytes_per_step,
        "seconds": timed.seconds,
        "dominant": timed.dominant,
    }


def _rate(step: ParallelStep) -> tuple[float | None, str | None]:
    try:
        return tokens_per_s_at_most(step), None
    except ModelRefused as refusal:
        return None, f"{refusal.finding.allowed}: {refusal.finding.remedy}"
