"""The state of a run in three columns: logical bytes, the back end's layout, the measured allocation.

Logical bytes follow from the registered prediction (configuration), the layout from the blocks that the
engine says it used, the measured bytes from what it says it allocated. Differences are named with their
cause; a remainder that no cause explains stays one. An empty column stays null.
"""

from collections.abc import Sequence
from typing import TypedDict

from assay.analysis.observed import ObservedMemory, ObservedQuantities, ObservedStep
from runners.protocol.documents import Prediction, PredictionsDocument

REFERENCE_DTYPE = "bfloat16"  # in which published figures of state per token are mostly given


class StateColumns(TypedDict):
    """``what``: kv_per_token | kv_pool | kv_at_busiest_step; bytes are null where nothing states them."""

    what: str
    tokens: int
    logical_bytes: int
    layout_bytes: int | None
    measured_bytes: int | None
    differences: list[str]


def state_columns(
    predictions: PredictionsDocument | None, observed: ObservedQuantities
) -> list[StateColumns]:
    """Per token, of the pool, and at the step with most blocks in use. Empty without a registered size."""
    row = _registered(predictions, "kv_bytes_per_token")
    if row is None or row["estimate"] is None:
        return []
    per_token, block = round(row["estimate"]), row["conditions"].get("block_tokens")
    memory = observed.memory
    found = [_per_token(per_token, str(row["conditions"]["kv_dtype"]), block, memory)]
    if not block or not memory.kv_total_blocks:
        return found
    capacity = memory.kv_total_blocks * block
    found.append(
        StateColumns(
            what="kv_pool",
            tokens=capacity,
            logical_bytes=capacity * per_token,
            layout_bytes=capacity * per_token,
            measured_bytes=memory.kv_bytes_allocated,
            differences=_allocation(capacity * per_token, memory.kv_bytes_allocated),
        )
    )
    busiest = _busiest(observed.steps)
    if busiest is not None:
        found.append(_held(busiest, per_token, block, memory))
    return found


def _per_token(
    per_token: int, kv_dtype: str, block: int | None, memory: ObservedMemory
) -> StateColumns:
    measured = None
    if block and memory.kv_total_blocks and memory.kv_bytes_allocated:
        measured = round(memory.kv_bytes_allocated / (memory.kv_total_blocks * block))
    from assay.analysis.perfmodel.precision import dtype_bytes  # where predictions need it alone

    width, reference = (dtype_bytes(name, field="kv_dtype") for name in (kv_dtype, REFERENCE_DTYPE))
    said = _allocation(per_token, measured)
    if width != reference:
        said.append(
            f"in {kv_dtype} an element takes {width} B; in {REFERENCE_DTYPE} a token would take "
            f"{per_token * reference // width:,} B"
        )
    return StateColumns(
        what="kv_per_token",
        tokens=1,
        logical_bytes=per_token,
        layout_bytes=None if measured is None else per_token,
        measured_bytes=measured,
        differences=said,
    )


def _held(step: ObservedStep, per_token: int, block: int, memory: ObservedMemory) -> StateColumns:
    blocks = step.kv_used_blocks or 0
    layout = blocks * block * per_token
    measured = None
    if memory.kv_bytes_allocated and memory.kv_total_blocks:
        measured = blocks * memory.kv_bytes_allocated // memory.kv_total_blocks
    return StateColumns(
        what="kv_at_busiest_step",
        tokens=step.context_tokens,
        logical_bytes=step.context_tokens * per_token,
        layout_bytes=layout,
        measured_bytes=measured,
        differences=[
            *_rounding(step, blocks=blocks, block=block, per_token=per_token),
            *_allocation(layout, measured),
        ],
    )


def _rounding(step: ObservedStep, *, blocks: int, block: int, per_token: int) -> list[str]:
    """Slots of used blocks that hold no token: at most block - 1 for each sequence are rounding."""
    empty = blocks * block - step.context_tokens
    if not empty:
        return []
    most = step.batch * (block - 1)
    rounding = min(empty, most)
    said = [
        f"block rounding: {rounding} of {blocks * block} slots in the last blocks of {step.batch} sequences "
        f"are empty ({rounding * per_token:,} B; at most {most})"
    ]
    if empty > most:
        said.append(
            f"{empty - most} slots more are held than the step's sequences fill: blocks of requests that "
            "took no part in it, or taken ahead"
        )
    return said


def _allocation(layout: int, measured: int | None) -> list[str]:
    if measured is None or measured == layout:
        return []
    return [f"the allocation differs from the layout by {measured - layout:,} B: not explained"]


def _busiest(steps: Sequence[ObservedStep]) -> ObservedStep | None:
    counted = [step for step in steps if step.kv_used_blocks]
    return max(counted, key=lambda s: s.kv_used_blocks or 0, default=None)


def _registered(predictions: PredictionsDocument | None, quantity: str) -> Prediction | None:
    rows = predictions["predictions"] if predictions else []
    return next((row for row in rows if row["quantity"] == quantity), None)
