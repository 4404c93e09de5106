"""Over which spans a run's rates are taken, by the load that was declared."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.analysis.absence import Absent
from assay.analysis.steady import OVERLOADED, closed_loop_window, open_loop_window
from assay.analysis.window import Window, across_clocks, whole_window
from assay.analysis.wire.attempt import Attempt

_ALL_STAGES = "all stages"
# Loads whose rate changes by declaration, or that are over at once: nothing is steady, nor claims to be.
_NEVER_STEADY = {
    "ramp": "a ramp: its rate changes by declaration, no steady state is claimed",
    "burst": "everything at once: no steady state is claimed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """When a stage was in force, on the attempts' clock; ``concurrency`` is None for a rate."""

    from_ns: int
    to_ns: int
    concurrency: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadShape:
    """What the declared load was: the concurrency of a closed loop, or an open loop, or neither known.

    ``kind`` is that of the declaration. ``withheld`` counts planned requests that the load never meant to
    send: those left in the pool when the last stage of a closed loop was over.
    """

    concurrency: int | None = None
    open_loop: bool = False
    kind: str | None = None
    thinks: bool = False
    stages: tuple[Stage, ...] = ()
    withheld: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadWindow:
    """A window, or why there is none, and the stage that it belongs to; None: the whole load."""

    window: Window | Absent
    stage: str | None = None


def load_windows(
    attempts: Sequence[Attempt], shape: LoadShape, asked: Window | None
) -> list[LoadWindow]:
    """The window asked for, else the steady part of the declared load; then one for each of its stages."""
    if asked is not None:
        return [LoadWindow(window=asked)]
    if shape.kind in _NEVER_STEADY:
        return [LoadWindow(window=_whole(attempts, _NEVER_STEADY[shape.kind]))]
    if shape.stages:
        whole = LoadWindow(window=_whole(attempts, "all stages together"), stage=_ALL_STAGES)
        return [whole, *(_stage_window(attempts, shape, n) for n in range(len(shape.stages)))]
    if shape.concurrency is not None:
        steady = closed_loop_window(attempts, shape.concurrency, thinks=shape.thinks)
    elif shape.open_loop:
        steady = open_loop_window(attempts)
    else:
        return [LoadWindow(window=whole_window(attempts))]
    return [LoadWindow(window=_or_whole(attempts, steady))]


def known_to(windows: Sequence[LoadWindow], error_ns: int) -> list[LoadWindow]:
    """The same, where some of the attempts were stamped by clocks that are tied to the run's so closely."""
    return [replace(one, window=across_clocks(one.window, error_ns)) for one in windows]


def _stage_window(attempts: Sequence[Attempt], shape: LoadShape, number: int) -> LoadWindow:
    stage = shape.stages[number]
    within = (stage.from_ns, stage.to_ns)
    if stage.concurrency is None:
        return LoadWindow(
            window=open_loop_window(attempts, within=within), stage=f"stage {number + 1}"
        )
    window = closed_loop_window(attempts, stage.concurrency, thinks=shape.thinks, within=within)
    return LoadWindow(window=window, stage=f"stage {number + 1} (concurrency {stage.concurrency})")


def _or_whole(attempts: Sequence[Attempt], steady: Window | Absent) -> Window | Absent:
    """An overload has no window at all; where a steady part was merely not found, the whole span says so."""
    if isinstance(steady, Window) or steady.reason.startswith(OVERLOADED):
        return steady
    return _whole(attempts, steady.reason)


def _whole(attempts: Sequence[Attempt], why: str) -> Window | Absent:
    whole = whole_window(attempts)
    return whole if isinstance(whole, Absent) else replace(whole, chosen=f"{whole.chosen}; {why}")
