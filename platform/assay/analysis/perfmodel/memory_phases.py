"""Memory of one rank by phase, in the three columns that tools report and that never explain one another.

*Allocated*: live tensors. *Reserved*: what the framework's allocator took from the driver. *Device*: what
the driver counts for the process. A cell that cannot be derived is None with its reason. Source: chapter
3.4.2.
"""

from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    LOAD = "load"
    WARM_UP = "warm_up"
    STEADY = "steady"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Expected bytes of one phase and column, or None with the reason; ``of`` names what is in it."""

    bytes: int | None
    of: tuple[str, ...]
    missing: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryItems:
    """What the phases are made of, in bytes of one rank; None is not known.

    ``pool_bytes``: the KV pool if the engine allocates one at once; else ``state_bytes`` grows with the
    load. ``peak_activation_bytes`` and ``non_torch_bytes`` come from an engine's profiling run.
    """

    weight_bytes: int
    state_bytes: int
    pool_bytes: int | None = None
    peak_activation_bytes: int | None = None
    non_torch_bytes: int | None = None


NO_ALLOCATOR = "the allocator's own record would fill it: it keeps freed blocks and rounds sizes"
NO_ACTIVATION = "peak activation is not known: the engine's profiling run would fill it"
NO_DRIVER = (
    "the driver's count would fill it: context, graphs and libraries lie outside the allocator"
)


def phase_table(items: MemoryItems) -> dict[Phase, dict[str, Cell]]:
    """Expected bytes by phase and column. Load: weights; warm-up: also the pool and peak activation.

    In steady state the pool stays whole whatever is in it, so occupancy says nothing about use.
    """
    held = items.state_bytes if items.pool_bytes is None else items.pool_bytes
    kept = "state of the stated load" if items.pool_bytes is None else "KV pool"
    steady = Cell(bytes=items.weight_bytes + held, of=("weights", kept))
    load = Cell(bytes=items.weight_bytes, of=("weights",))
    return {
        Phase.LOAD: {"allocated": load, **_outer(items, None)},
        Phase.WARM_UP: {"allocated": _with_activation(items, steady), **_outer(items, steady)},
        Phase.STEADY: {"allocated": steady, **_outer(items, steady)},
    }


def _with_activation(items: MemoryItems, steady: Cell) -> Cell:
    if items.peak_activation_bytes is None or steady.bytes is None:
        return Cell(bytes=None, of=(*steady.of, "peak activation"), missing=NO_ACTIVATION)
    return Cell(
        bytes=steady.bytes + items.peak_activation_bytes, of=(*steady.of, "peak activation")
    )


def _outer(items: MemoryItems, steady: Cell | None) -> dict[str, Cell]:
    """Reserved and device columns: known only where an engine's profiling gave their parts."""
    if steady is None:
        return {
            "reserved": Cell(
                bytes=None, of=("weights", "copies while loading"), missing=NO_ALLOCATOR
            ),
            "device": Cell(bytes=None, of=("weights", "runtime context"), missing=NO_DRIVER),
        }
    peak = _with_activation(items, steady)
    reserved = Cell(bytes=peak.bytes, of=peak.of, missing=peak.missing and NO_ALLOCATOR)
    if reserved.bytes is None or items.non_torch_bytes is None:
        of = (*reserved.of, "non-torch")
        return {"reserved": reserved, "device": Cell(bytes=None, of=of, missing=NO_DRIVER)}
    return {
        "reserved": reserved,
        "device": Cell(
            bytes=reserved.bytes + items.non_torch_bytes, of=(*reserved.of, "non-torch")
        ),
    }
