"""The state ledger: every kind of state in three columns that are never mixed.

*Logical* bytes follow from the configuration, the *layout* of the executing back end from its source or
run-time metadata, the *measured* bytes from an allocation. The last two stay empty, with the reason, until
evidence fills them; planning cites the column nearest to what ran, and a difference between columns is a
gap. Sources: chapter 2.4, 2.4.2 and 2.8.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.mixers.mixer import StoredAs
from assay.analysis.perfmodel.state import StateClass
from runners.protocol.documents import Gap
from runners.protocol.errors import Finding


class Source(StrEnum):
    """Where a column's bytes come from, in the order of evidence."""

    CONFIGURATION = "configuration"
    BACKEND_SOURCE = "back-end source"
    RUNTIME_METADATA = "run-time metadata"
    ALLOCATION = "allocation record"


LAYOUT_SOURCES = (Source.BACKEND_SOURCE, Source.RUNTIME_METADATA)
NO_LAYOUT = "no back end was read: source or run-time metadata would fill it"
NO_ALLOCATION = "nothing was allocated: an allocation record of a run would fill it"

# What no figure of the ledger contains unless an entry says so.
EXCLUDED = (
    "state of draft or multi-token-prediction layers",
    "scratch space of kernels",
    "block rounding and alignment",
    "copies of shared prefixes, swapped or transferred state",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Bytes of one column, or None with the reason."""

    bytes: int | None
    source: Source | None
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StateEntry:
    """One kind of state of one sequence at a stated length.

    ``recomputation`` says how it comes back after a loss, ``place`` where it is allocated.
    """

    kind: str
    stored_as: StoredAs
    dtype: str
    layers: int
    growth: str
    sharing: str
    recomputation: str
    place: str
    tokens: int
    logical: Column
    layout: Column
    measured: Column

    def planned_bytes(self) -> Column:
        """The column that a budget cites: measured before layout before logical."""
        return next(c for c in (self.measured, self.layout, self.logical) if c.bytes is not None)


def ledger(classes: Sequence[StateClass], *, tokens: int, place: str) -> list[StateEntry]:
    """The entries of one sequence after ``tokens`` tokens; layout and allocation are still empty."""
    return [
        StateEntry(
            kind=each.kind,
            stored_as=each.part.stored_as,
            dtype=each.dtype,
            layers=each.layers,
            growth=each.growth,
            sharing=_sharing(each),
            recomputation=_recomputation(each),
            place=place,
            tokens=tokens,
            logical=Column(
                bytes=each.resident_bytes(tokens),
                source=Source.CONFIGURATION,
                evidence="M(S) of the structure; shared state once",
            ),
            layout=Column(bytes=None, source=None, evidence=NO_LAYOUT),
            measured=Column(bytes=None, source=None, evidence=NO_ALLOCATION),
        )
        for each in classes
    ]


def with_layout(entry: StateEntry, *, size: int, source: Source, evidence: str) -> StateEntry:
    """Fill the layout column from a back end's source or its run-time metadata; nothing else may."""
    _check(source, LAYOUT_SOURCES, "layout")
    return replace(entry, layout=Column(bytes=size, source=source, evidence=evidence))


def with_measurement(entry: StateEntry, *, size: int, source: Source, evidence: str) -> StateEntry:
    """Fill the measured column from an allocation record; nothing else may."""
    _check(source, (Source.ALLOCATION,), "measured")
    return replace(entry, measured=Column(bytes=size, source=source, evidence=evidence))


def differences(entries: Sequence[StateEntry]) -> list[Gap]:
    """A gap for each entry whose filled columns disagree, with the two figures."""
    found: list[Gap] = []
    for entry in entries:
        columns = {"logical": entry.logical, "layout": entry.layout, "measured": entry.measured}
        filled = [(name, c.bytes) for name, c in columns.items() if c.bytes is not None]
        if len({size for _, size in filled}) > 1:
            figures = ", ".join(f"{name} {size}" for name, size in filled)
            found.append(
                Gap(
                    what=f"bytes of {entry.kind} at {entry.tokens} tokens: {figures}",
                    affects="capacity: how many tokens or sequences fit",
                    needed="padding, block rounding, scales or copies of the back end, named and counted",
                    state="open",
                )
            )
    return found


def _sharing(each: StateClass) -> str:
    if each.layers == 0:
        return "held elsewhere"
    if each.reading_layers > each.layers:
        return f"{each.reading_layers} layers read what {each.layers} hold; counted once, where it lies"
    return "each layer its own; counted once when requests share a prefix"


def _recomputation(each: StateClass) -> str:
    if each.part.stored_as in (StoredAs.RECURRENT, StoredAs.CONVOLUTION):
        return "from the start or a checkpoint: it cannot be cut back to an earlier length"
    return "from the tokens, any suffix by running it again"


def _check(source: Source, allowed: Sequence[Source], column: str) -> None:
    if source not in allowed:
        raise ModelRefused(
            Finding(
                field=f"state ledger, {column}",
                seen=source,
                allowed=", ".join(allowed),
                remedy="A configuration says what is stored, not how it is laid out or allocated.",
            )
        )
