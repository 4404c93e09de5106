"""The starts of one study in order, cut where a start differs from those before it in what it is.

Series key on identity, never on readings: a CPU clock that wobbles is no new machine. A start that differs in
anything but the declared variable begins a new segment, and the segment says in which fields.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One fresh engine start of a study: a run that ended, however it ended.

    ``identity`` maps key fields to what ran (null: unknown, which equals nothing). ``values`` maps a metric
    (rule and statistic) to its value in its bare unit, null where the run has none of it.
    """

    run: str
    ended: bool  # with a result: sealed, not failed, aborted or lost
    identity: Mapping[str, Any]
    values: Mapping[str, float | None]
    invalid: str = ""  # why its numbers do not count, in words
    client_limited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    field: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Starts that are comparable with one another. ``why`` is empty for the first of a series."""

    starts: tuple[Start, ...]
    why: tuple[Difference, ...]


def segments(starts: Sequence[Start], *, variable: str | None = None) -> list[Segment]:
    """``variable`` is the one field that may differ within a segment (an engine version, for instance)."""
    found: list[tuple[list[Start], tuple[Difference, ...]]] = []
    for start in starts:
        if not found:
            found.append(([start], ()))
            continue
        changed = differences(found[-1][0][-1].identity, start.identity, variable=variable)
        if changed:
            found.append(([start], changed))
        else:
            found[-1][0].append(start)
    return [Segment(starts=tuple(members), why=why) for members, why in found]


def differences(
    before: Mapping[str, Any], after: Mapping[str, Any], *, variable: str | None = None
) -> tuple[Difference, ...]:
    """Fields in which two identities are not known to be the same; unknown never equals unknown."""
    return tuple(
        Difference(field=name, before=before.get(name), after=after.get(name))
        for name in sorted({*before, *after})
        if name != variable and (before.get(name) is None or before.get(name) != after.get(name))
    )
