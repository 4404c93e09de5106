"""What the numbers of each side are over, and where that differs: said before any number.

Latencies are over the attempts that completed, so a side that lost more of them looks faster than it was; one
with shorter outputs, more cached prompts or a cap that was reached is another population too.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from assay.analysis.comparability.record import Population
from assay.analysis.comparability.sides import Side
from experiments.output_cap import CapsReached

Key = TypeVar("Key", int, str)
_CACHED_SHARE_APART = 0.01  # a smaller difference is not worth a sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """Tokens of completed attempts; ``of`` counts those attempts, ``n`` the ones whose tokens are known."""

    low: int
    median: int
    high: int
    n: int
    of: int

    def words(self) -> str:
        spread = f"{self.low} to {self.high}, median {self.median}"
        return str(self.low) if self.low == self.high else spread


def pooled(side: Side) -> Population | None:
    """All runs of a side together; null where one of them has no attempts to read."""
    found = [run.population for run in side.runs]
    own = [population for population in found if population is not None]
    if not own or len(own) < len(found):
        return None
    cached = [p.cached_tokens for p in own]
    return Population(
        group=own[0].group,
        states=_sum(p.states for p in own),
        input_lengths=_sum(p.input_lengths for p in own),
        output_lengths=_sum(p.output_lengths for p in own),
        prompt_tokens=sum(p.prompt_tokens for p in own),
        cached_tokens=None if None in cached else sum(c for c in cached if c is not None),
        at_cap=_caps(own),
    )


def caps_reached(left: Population | None, right: Population | None) -> CapsReached | None:
    """How many outputs of two sides reached each cap; null where a side has no attempts to read."""
    if left is None or right is None:
        return None
    return CapsReached(left=left.at_cap, right=right.at_cap)


def lengths(counted: Mapping[int, int], *, of: int) -> Lengths | None:
    """Lowest, median (nearest rank) and highest of counted lengths; null of nothing."""
    n = sum(counted.values())
    if not n:
        return None
    seen, middle = 0, 0
    for length in sorted(counted):
        seen += counted[length]
        if 2 * seen >= n:
            middle = length
            break
    return Lengths(low=min(counted), median=middle, high=max(counted), n=n, of=of)


def population_notes(sides: Sequence[Side]) -> tuple[str, ...]:
    """A sentence for each way in which a side's population is not that of the first side."""
    found = [(side.letter, pooled(side)) for side in sides]
    notes = [f"{letter}: its attempts cannot be read here" for letter, p in found if p is None]
    known = [(letter, p) for letter, p in found if p is not None]
    for letter, population in known[1:]:
        notes += _between(*known[0], letter, population)
    return tuple(notes)


def _between(a: str, left: Population, b: str, right: Population) -> Iterator[str]:
    if left.group != right.group:
        yield f"{a} is over {left.group}, {b} over {right.group}"
    if left.completed * right.offered != right.completed * left.offered:
        yield (
            f"{a} completed {_outcome(left)}; {b} {_outcome(right)}: latencies are over those that completed"
        )
    for what, ours, theirs in (
        ("input", left.input_lengths, right.input_lengths),
        ("output", left.output_lengths, right.output_lengths),
    ):
        yield from _lengths_between(
            f"{what} tokens", (a, lengths(ours, of=left.completed)),
            (b, lengths(theirs, of=right.completed)),
        )  # fmt: skip
    yield from _cached_between(a, left, b, right)
    yield from _caps_between(a, left, b, right)


def _outcome(population: Population) -> str:
    rest = [
        f"{n} {state}" for state, n in sorted(population.states.items()) if state != "completed"
    ]
    words = f"{population.completed} of {population.offered}"
    return f"{words} ({', '.join(rest)})" if rest else words


def _lengths_between(
    what: str, left: tuple[str, Lengths | None], right: tuple[str, Lengths | None]
) -> Iterator[str]:
    (a, ours), (b, theirs) = left, right
    if ours is None or theirs is None:
        unknown = [letter for letter, found in (left, right) if found is None]
        yield f"{what}: not known for {' and '.join(unknown)}"
        return
    for letter, found in ((a, ours), (b, theirs)):
        if found.n < found.of:
            yield f"{what}: known for {found.n} of {found.of} completed attempts of {letter}"
    if (ours.low, ours.median, ours.high) == (theirs.low, theirs.median, theirs.high):
        return
    apart = ours.high < theirs.low or theirs.high < ours.low
    words = f"{what}: {a} {ours.words()}; {b} {theirs.words()}"
    yield (
        f"{words}: no length in common, so that each side's times are of other shapes"
        if apart
        else words
    )


def _cached_between(a: str, left: Population, b: str, right: Population) -> Iterator[str]:
    ours, theirs = left.cached_share, right.cached_share
    if ours is None and theirs is None:
        return
    if ours is None or theirs is None:
        known, unknown = ((b, theirs), a) if ours is None else ((a, ours), b)
        yield f"cached share of prompts: {known[0]} {known[1]:.1%}; {unknown}: not told by the server"
    elif abs(ours - theirs) > _CACHED_SHARE_APART:
        yield f"cached share of prompts: {a} {ours:.1%}; {b} {theirs:.1%}"


def _caps_between(a: str, left: Population, b: str, right: Population) -> Iterator[str]:
    for path in sorted({*left.at_cap, *right.at_cap}):
        ours, theirs = left.at_cap.get(path), right.at_cap.get(path)
        if ours is None or theirs is None:
            continue  # the identity says that the class of the cap is unknown
        if ours * right.completed != theirs * left.completed and path == "workload.output_tokens":
            yield (
                f"outputs that reached their cap: {a} {ours} of {left.completed}; "
                f"{b} {theirs} of {right.completed}"
            )


def _sum(counts: Iterable[Mapping[Key, int]]) -> dict[Key, int]:
    total: Counter[Key] = Counter()
    for one in counts:
        total.update(one)
    return dict(total)


def _caps(own: Sequence[Population]) -> dict[str, int | None]:
    found: dict[str, int | None] = {}
    for path in {path for population in own for path in population.at_cap}:
        counts = [population.at_cap.get(path) for population in own]
        found[path] = None if None in counts else sum(c for c in counts if c is not None)
    return found
