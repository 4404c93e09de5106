"""Memory budget of one device for one stated load, by item.

Items that the model cannot know from a configuration (workspace, runtime context, graphs) are null unless
given. Fitting says nothing about a stable service, and a thin margin is no proof that it cannot fit.
"""

from dataclasses import dataclass

from assay.analysis.perfmodel.errors import ModelRefused
from runners.protocol.errors import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBudget:
    """All sizes in bytes. ``headroom_bytes`` and ``fits`` are None without a device size.

    ``known_bytes = (weights + state + further) x margin``; ``unknown`` names what is not in it.
    """

    weights_bytes: int
    state_bytes: int
    further_bytes: dict[str, int]
    margin: float
    known_bytes: int
    device_bytes: int | None
    headroom_bytes: int | None
    fits: str
    unknown: tuple[str, ...]


def memory_budget(
    *,
    weights_bytes: int,
    state_bytes: int,
    further_bytes: dict[str, int],
    margin: float,
    device_bytes: int | None,
) -> MemoryBudget:
    """Sum the items, apply the margin, compare with the device. Valid for the stated load only.

    ``fits`` is ``unknown`` without a device, ``no`` only when weights and state alone exceed it,
    ``known items fit`` when the sum with margin stays below, ``thin`` in between.
    """
    if margin < 1:
        raise ModelRefused(
            Finding(
                field="margin",
                seen=str(margin),
                allowed="at least 1",
                remedy="A margin multiplies the sum of the items.",
            )
        )
    total = round((weights_bytes + state_bytes + sum(further_bytes.values())) * margin)
    headroom = None if device_bytes is None else device_bytes - total
    return MemoryBudget(
        weights_bytes=weights_bytes,
        state_bytes=state_bytes,
        further_bytes=further_bytes,
        margin=margin,
        known_bytes=total,
        device_bytes=device_bytes,
        headroom_bytes=headroom,
        fits=_verdict(weights_bytes + state_bytes, total, device_bytes),
        unknown=()
        if further_bytes
        else ("activation workspace", "runtime context", "fragmentation"),
    )


def sequences_that_fit(
    *, device_bytes: int, weights_bytes: int, further_bytes: int, bytes_per_sequence: int
) -> int:
    """Upper limit of sequences whose state fits beside the weights; 0 if the weights alone do not fit."""
    room = device_bytes - weights_bytes - further_bytes
    return max(0, room // bytes_per_sequence)


def _verdict(needed: int, with_margin: int, device_bytes: int | None) -> str:
    if device_bytes is None:
        return "unknown"
    if needed > device_bytes:
        return "no"
    return "known items fit" if with_margin <= device_bytes else "thin"
