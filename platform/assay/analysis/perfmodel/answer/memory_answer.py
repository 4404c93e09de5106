"""Memory of one device for the asked load: the budget, its phases and columns, what an engine would
grant."""

from dataclasses import asdict
from typing import Any

from assay.analysis.perfmodel.answer.asked import EngineMemory, WayBack
from assay.analysis.perfmodel.engine_budget import granted_blocks
from assay.analysis.perfmodel.memory import memory_budget, sequences_that_fit
from assay.analysis.perfmodel.memory_phases import MemoryItems, phase_table
from assay.analysis.perfmodel.residency import Place, Transfer, resident_weights


def memory_answer(
    *,
    weight_bytes: int,
    state_bytes: int,
    per_sequence: int,
    per_token: int,
    device_bytes: int | None,
    engine: EngineMemory | None,
    way_back: WayBack,
) -> dict[str, Any]:
    """Weights and state of this load; workspace and runtime are unknown, so no margin is taken.

    ``per_sequence`` is the state of one sequence at the asked context, ``per_token`` what one more token
    adds.
    """
    budget = memory_budget(
        weights_bytes=weight_bytes,
        state_bytes=state_bytes,
        further_bytes={},
        margin=1.0,
        device_bytes=device_bytes,
    )
    fit = None
    if device_bytes is not None and per_sequence:
        fit = sequences_that_fit(
            device_bytes=device_bytes,
            weights_bytes=weight_bytes,
            further_bytes=0,
            bytes_per_sequence=per_sequence,
        )
    granted = _granted(engine, device_bytes, weight_bytes=weight_bytes, per_token=per_token)
    pool = None if granted is None else granted["pool_bytes"]
    return {
        "weights_bytes": weight_bytes,
        "state_bytes": state_bytes,
        "further_bytes": None,
        "known_bytes": budget.known_bytes,
        "device_bytes": device_bytes,
        "headroom_bytes": budget.headroom_bytes,
        "fits": budget.fits,
        "sequences_that_fit": fit,
        "unknown": list(budget.unknown),
        **_phases(weight_bytes=weight_bytes, state_bytes=state_bytes, pool_bytes=pool),
        "granted": granted,
        "residency": _residency(weight_bytes, per_token, way_back),
    }


def _phases(*, weight_bytes: int, state_bytes: int, pool_bytes: int | None) -> dict[str, Any]:
    table = phase_table(
        MemoryItems(weight_bytes=weight_bytes, state_bytes=state_bytes, pool_bytes=pool_bytes)
    )
    return {
        "phases": {
            phase.value: {column: cell.bytes for column, cell in cells.items()}
            for phase, cells in table.items()
        },
        "phases_missing": {
            phase.value: {c: cell.missing for c, cell in cells.items() if cell.missing}
            for phase, cells in table.items()
        },
    }


def _granted(
    engine: EngineMemory | None, device_bytes: int | None, *, weight_bytes: int, per_token: int
) -> dict[str, Any] | None:
    """KV blocks that an engine would grant; None without an engine's setting, a device or growing state."""
    if engine is None or not per_token:
        return None
    budget = engine.budget(device_bytes=device_bytes, weight_bytes=weight_bytes)
    if budget is None:
        return None
    blocks = granted_blocks(budget, bytes_per_token=per_token, block_tokens=engine.block_tokens)
    return {
        **asdict(budget),
        "total_source": "rated size; a driver reports another"
        if engine.total_bytes is None
        else "given",
        "kv_bytes": budget.kv_bytes,
        "block_tokens": engine.block_tokens,
        "blocks": blocks,
        "tokens": blocks * engine.block_tokens,
        "pool_bytes": blocks * engine.block_tokens * per_token,
    }


def _residency(weight_bytes: int, per_token: int, rates: WayBack) -> dict[str, Any]:
    found = resident_weights(
        weight_bytes=weight_bytes,
        state_bytes_per_token=per_token,
        way_back=(
            Transfer(
                source=Place.STORAGE,
                target=Place.HOST,
                bytes_per_s=rates.storage_bytes_per_s,
                rate_source=rates.source,
            ),
            Transfer(
                source=Place.HOST,
                target=Place.DEVICE,
                bytes_per_s=rates.host_link_bytes_per_s,
                rate_source=rates.source,
            ),
        ),
    )
    return asdict(found)
