"""The memory budget of a declared run, by phase: what follows from the declaration alone.

Per rank of each pipeline stage. What no configuration says (workspace, runtime, fragmentation) is unknown and
stays so: a sum that fits is no promise.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from assay.analysis.devices.catalogue import device as catalogued
from assay.analysis.devices.commitment import backs_capacity
from assay.analysis.errors import AnalysisError
from assay.analysis.forecast.shapes import RunShape, read_run_shape
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.memory import MemoryBudget, memory_budget
from assay.analysis.perfmodel.memory_phases import Cell, MemoryItems, Phase, phase_table
from assay.analysis.perfmodel.parallel.layout import Layout
from assay.analysis.perfmodel.parallel.ranks import RankStage, rank_stages
from assay.analysis.predictions import executed_model
from runners.protocol import host
from runners.protocol.errors import Finding

CPU = "cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseRow:
    phase: str
    allocated: Cell
    reserved: Cell
    device: Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class RankMemory:
    """One rank of a pipeline stage. ``pool_bytes``: the KV pool that the engine is told to allocate."""

    stage: int
    budget: MemoryBudget
    pool_bytes: int | None
    per_sequence_bytes: int
    phases: tuple[PhaseRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """``finding`` stands instead of ranks where the model cannot be computed."""

    ranks: tuple[RankMemory, ...] = ()
    devices: int = 1
    sequences: int | None = None
    tokens: int = 0
    whose: str = ""  # where the device's size comes from, or why it is not known
    finding: Finding | None = None

    @property
    def too_large(self) -> bool:
        return any(rank.budget.fits == "no" for rank in self.ranks)


def memory_of(spec: Mapping[str, Any], *, workers_here: bool) -> Memory:
    """``workers_here``: the CPU that runs it is this machine's own."""
    try:
        shape = read_run_shape(spec, {})
        executed, _remarks = executed_model(spec, shape.engine)
        parallel = spec["engine"]["parallel"]
        layout = Layout(
            tensor=parallel["tensor"],
            pipeline=parallel["pipeline"],
            expert=parallel["expert"],
            data=parallel["data"],
        )
        stages = rank_stages(
            executed.structure,
            layout,
            formats=executed.formats,
            kv_dtype=executed.kv_dtype,
            activation_dtype=executed.dtype,
        )
    except (ModelRefused, AnalysisError) as refusal:
        return Memory(finding=refusal.finding)
    size, whose = _device(spec["device"], workers_here=workers_here and not shape.engine.elsewhere)
    sequences, tokens = _sequences(shape), _tokens(shape)
    ranks = [
        _rank(number, stage, shape, size=size, sequences=sequences, tokens=tokens)
        for number, stage in enumerate(stages)
    ]
    return Memory(
        ranks=tuple(ranks),
        devices=layout.devices,
        sequences=sequences,
        tokens=tokens,
        whose=whose,
    )


def _rank(
    number: int,
    stage: RankStage,
    shape: RunShape,
    *,
    size: int | None,
    sequences: int | None,
    tokens: int,
) -> RankMemory:
    each = stage.state_bytes(tokens)
    pool = _pool(stage, shape)
    state = each * (sequences or 1)
    table = phase_table(
        MemoryItems(weight_bytes=stage.weight_bytes, state_bytes=state, pool_bytes=pool)
    )
    return RankMemory(
        stage=number,
        budget=memory_budget(
            weights_bytes=stage.weight_bytes,
            state_bytes=state if pool is None else pool,
            further_bytes={},
            margin=1.0,
            device_bytes=size,
        ),
        pool_bytes=pool,
        per_sequence_bytes=each,
        phases=tuple(PhaseRow(phase=_PHASES[phase], **cells) for phase, cells in table.items()),
    )


_PHASES = {Phase.LOAD: "load", Phase.WARM_UP: "warm-up", Phase.STEADY: "steady"}


def _pool(stage: RankStage, shape: RunShape) -> int | None:
    """The pool of blocks that the engine is told to make; None where it decides by itself."""
    engine = shape.engine
    if not engine.kv_blocks or not engine.block_tokens:
        return None
    per_token = sum(part.bytes_per_token for part in stage.classes if part.in_total)
    return engine.kv_blocks * engine.block_tokens * per_token


def _sequences(shape: RunShape) -> int | None:
    """How many hold state at once: those of the closed loop, else as many as the engine admits."""
    return shape.sequences or shape.engine.max_batch


def _tokens(shape: RunShape) -> int:
    """Tokens that the longest request of the load stores: the last one sampled is never run."""
    return shape.load.input_tokens + max(0, shape.load.produced - 1)


def _device(device: Mapping[str, Any], *, workers_here: bool) -> tuple[int | None, str]:
    if device["kind"] == CPU:
        if not workers_here:
            return None, _("the machine of the worker is not this one")
        return host.describe()["memory_bytes"], _("memory of this machine, /proc/meminfo")
    try:
        entry = catalogued(str(device["name"]))
    except ModelRefused:
        return None, _("{name} is not in the catalogue of devices").format(name=device["name"])
    if not backs_capacity(entry):
        return None, _("no capacity is stated of {name} yet").format(name=entry.name)
    size = entry.memory_bytes
    return int(size.value), f"{entry.name}: {size.column} (decimal), {size.source}"
