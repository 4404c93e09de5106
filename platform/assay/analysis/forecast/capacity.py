"""Predicted capacity: bytes of weights and state as executed, blocks, and how many sequences fit."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.analysis.devices.machine import Interval
from assay.analysis.forecast import assumed
from assay.analysis.forecast.rows import CAPACITY, ENGINE_LOOP, exact_row, range_row
from assay.analysis.forecast.shapes import RequestShape, RunShape
from assay.analysis.forecast.terms import Executed
from assay.analysis.perfmodel.state import blocks_for, kv_bytes_per_token
from assay.analysis.perfmodel.weights import weight_bytes
from runners.protocol.documents import Prediction


def capacity_rows(
    executed: Executed,
    shape: RunShape,
    *,
    files: list[Mapping[str, Any]],
    coverage: float,
    validity: str,
) -> list[Prediction]:
    """KV bytes per token and of the pool, weight bytes, peak blocks, sequences, process memory."""
    row = _Exact(validity=validity)
    per_token = kv_bytes_per_token(executed.structure, kv_dtype=executed.kv_dtype)
    weights = weight_bytes(executed.structure, executed.formats)
    settings = {"block_tokens": shape.engine.block_tokens}
    rows = [
        row("kv_bytes_per_token", per_token, "byte/token", {"kv_dtype": executed.kv_dtype, **settings},
            "another quotient of allocated KV bytes and the tokens the pool holds"),
        row("weights_bytes_executed", weights, "byte", {"format": executed.formats.label},
            "parameters of another dtype or count in the engine's own account"),
    ]  # fmt: skip
    if shape.engine.kv_blocks and shape.engine.block_tokens:
        pool = shape.engine.kv_blocks * shape.engine.block_tokens * per_token
        rows += _pool_rows(row, shape, pool=pool)
        rows.append(_resident(weights + pool, coverage=coverage, validity=validity))
    if files:
        stored = sum(int(file["bytes"]) for file in files)
        rows.append(
            row("weight_file_bytes", stored, "byte", {"files": len(files)},
                "files of another size on disk")
        )  # fmt: skip
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class _Exact:
    """Makes rows of counts that follow from configuration alone."""

    validity: str

    def __call__(
        self, quantity: str, value: float, unit: str, conditions: dict[str, Any], overturned_by: str
    ) -> Prediction:
        return exact_row(
            quantity, CAPACITY, value, unit, layer=ENGINE_LOOP, conditions=conditions,
            validity=self.validity, overturned_by=overturned_by,
        )  # fmt: skip


def _pool_rows(row: _Exact, shape: RunShape, *, pool: int) -> list[Prediction]:
    """The pool of blocks, and how many sequences fit; only where the engine declares one."""
    engine = shape.engine
    settings = {"kv_blocks": engine.kv_blocks, "block_tokens": engine.block_tokens}
    rows = [
        row("kv_bytes_allocated", pool, "byte", settings, "another allocation in the engine's record"),
        row("kv_total_blocks", engine.kv_blocks or 0, "1", settings,
            "another number of blocks in the record"),
        row("concurrent_sequences_max", _sequences(shape), "1",
            {**settings, "max_batch": engine.max_batch, "tokens": _longest(shape.load)},
            "a step that carried more requests"),
    ]  # fmt: skip
    if (peak := _peak_blocks(shape)) is not None:
        rows.append(
            row("kv_peak_used_blocks", peak, "1", settings,
                "another peak in the record: other lengths together, preemption, or late release")
        )  # fmt: skip
    return rows


def _resident(held: int, *, coverage: float, validity: str) -> Prediction:
    memory = assumed.assumed(assumed.RUNTIME_MEMORY)
    return range_row(
        "engine_rss_peak", CAPACITY,
        Interval(value=held + memory.value, low=held + memory.low, high=held + memory.high),
        "byte", bound=float(held), coverage=coverage, layer=ENGINE_LOOP, memory_level="DRAM",
        conditions={"phase": "steady"}, validity=validity,
        parameters=[assumed.RUNTIME_MEMORY],
        overturned_by="resident memory outside the range: copies of weights, or pages never touched",
    )  # fmt: skip


def _longest(request: RequestShape) -> int:
    """Tokens stored at the end of a request: the last one sampled is never run through the model."""
    return request.input_tokens + max(0, request.produced - 1)


def _blocks(shape: RunShape, request: RequestShape) -> int:
    return blocks_for(_longest(request), block_tokens=shape.engine.block_tokens or 1)


def _sequences(shape: RunShape) -> int:
    fit = (shape.engine.kv_blocks or 0) // max(1, _blocks(shape, shape.load))
    return min(shape.engine.max_batch or fit, fit)


def _peak_blocks(shape: RunShape) -> int | None:
    """Blocks in use at the busiest moment; unknown in an open loop, where it depends on the times."""
    if shape.sequences is None or shape.follows:
        return None
    alone = [_blocks(shape, case) for case in shape.cases]
    together = min(shape.sequences, _sequences(shape)) * _blocks(shape, shape.load)
    return min(shape.engine.kv_blocks or 0, max([together, *alone]))
