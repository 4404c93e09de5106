"""Columns of many attempts at once: straight from where they are kept, or gathered from attempts themselves.

Sums, counts and spans over a run are taken over columns. One attempt after the other would take a hundred
times as long, and an object each.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from operator import attrgetter
from typing import Any, cast, overload

import numpy as np
from numpy.typing import NDArray

from assay.analysis.compact import MISSING, Coded, Texts
from assay.analysis.kept import KeptAttempt, KeptAttempts, place_of
from assay.analysis.wire.attempt import Attempt

Instants = NDArray[np.int64]
Mask = NDArray[np.bool_]
Places = NDArray[np.int64]
NO_PLACES: Places = np.zeros(0, dtype=np.int64)


class KeptSome(Sequence[Attempt]):
    """Some of the kept attempts, by their places, in an order of their own."""

    __slots__ = ("kept", "places")

    def __init__(self, kept: KeptAttempts, places: Places) -> None:
        self.kept, self.places = kept, places

    def only(self, chosen: Mask) -> "KeptSome":
        """Those that are marked, in the same order."""
        return KeptSome(self.kept, self.places[chosen])

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[Attempt]:
        return (cast("Attempt", KeptAttempt(self.kept, at)) for at in self.places.tolist())

    @overload
    def __getitem__(self, at: int) -> Attempt: ...
    @overload
    def __getitem__(self, at: slice) -> "KeptSome": ...
    def __getitem__(self, at: int | slice) -> "Attempt | KeptSome":
        if isinstance(at, slice):
            return KeptSome(self.kept, self.places[at])
        return self.kept[int(self.places[at])]


def kept_some(attempts: Sequence[Attempt]) -> KeptSome:
    """Kept attempts as such a sequence; at least one, if it is a list."""
    if isinstance(attempts, KeptSome):
        return attempts
    if isinstance(attempts, KeptAttempts):
        return KeptSome(attempts, np.arange(len(attempts)))
    places = np.fromiter((place_of(a) for a in attempts), dtype=np.int64, count=len(attempts))
    return KeptSome(cast("KeptAttempt", attempts[0]).kept, places)


def by_start(attempts: Sequence[Attempt]) -> KeptSome:
    """Kept attempts (at least one) by their start, then by id; without a start at the end."""
    some = kept_some(attempts)
    starts, known = number(some, "start_ns")
    order = np.lexsort((starts, ~known))
    alike = np.flatnonzero((np.diff(starts[order]) == 0) & (np.diff(known[order]) == 0))
    if len(alike):
        names = [some.kept.ids["attempt_id"][at] or "" for at in some.places.tolist()]
        order = np.lexsort((np.argsort(np.argsort(np.array(names))), starts, ~known))
    return KeptSome(some.kept, some.places[order])


def only(attempts: Sequence[Attempt], chosen: Mask) -> Sequence[Attempt]:
    """The attempts that are marked, in their order."""
    if isinstance(attempts, KeptSome | KeptAttempts):
        return kept_some(attempts).only(chosen)
    return [attempts[at] for at in np.flatnonzero(chosen).tolist()]


def number(attempts: Sequence[Attempt], name: str) -> tuple[Instants, Mask]:
    """A whole number of each attempt, and of which it is known; ``reply.<name>`` is one of its reply."""
    if isinstance(attempts, KeptSome | KeptAttempts):
        some = kept_some(attempts)
        _, of_reply, own = name.rpartition("reply.")
        columns = some.kept.reply_numbers if of_reply else some.kept.numbers
        return columns[own].known(some.places)
    read = attrgetter(name)
    values = [MISSING if (v := read(a)) is None else v for a in attempts]
    found = np.array(values, dtype=np.int64)
    return found, found != MISSING


def texts(attempts: Sequence[Attempt], name: str) -> tuple[NDArray[np.bytes_], Mask]:
    """An id of each attempt, to be compared (see ``Texts.padded``), and of which it is known."""
    if isinstance(attempts, KeptSome | KeptAttempts):
        some = kept_some(attempts)
        return some.kept.ids[name].padded(some.places)
    held = Texts()
    for attempt in attempts:
        held.append(getattr(attempt.ids, name))
    return held.padded(np.arange(len(attempts)))


def where(attempts: Sequence[Attempt], name: str, holds: Callable[[Any], bool]) -> Mask:
    """Of which attempts a value of few kinds is one that holds."""
    if isinstance(attempts, KeptSome | KeptAttempts):
        some = kept_some(attempts)
        return _coded(some.kept, name).where(holds)[some.places]
    read = attrgetter(name)
    return np.array([holds(read(a)) for a in attempts], dtype=bool)


def values(attempts: Sequence[Attempt], name: str) -> dict[Any, int]:
    """The values of few kinds that these attempts have, in order of appearance, and how many have each."""
    if isinstance(attempts, KeptSome | KeptAttempts):
        some = kept_some(attempts)
        coded = _coded(some.kept, name)
        codes = np.frombuffer(coded.codes, dtype=np.intc)[some.places]
        kinds, first, counts = np.unique(codes, return_index=True, return_counts=True)
        order = np.argsort(first)
        pairs = zip(kinds[order].tolist(), counts[order].tolist(), strict=True)
        return {coded.values[kind]: count for kind, count in pairs}
    found: dict[Hashable, int] = {}
    read = attrgetter(name)
    for attempt in attempts:
        value = read(attempt)
        found[value] = found.get(value, 0) + 1
    return found


def _coded(kept: KeptAttempts, name: str) -> Coded:
    _, of_reply, own = name.rpartition("reply.")
    return (kept.reply_coded if of_reply else kept.coded)[own]
