"""Halving over versions: which one brought a change, and what is no answer."""

import pytest

from assay.analysis.regression.bisect import BisectStep, Levels, Side, next_step, side_of

VERSIONS = ["0.30", "0.31", "0.32", "0.33", "0.34", "0.35", "0.36"]
LEVELS = Levels(old=100.0, new=120.0)  # the middle is 110
GOOD, BAD = [101.0, 99.0, 100.0], [121.0, 118.0, 120.0]


def bisected(first_bad: str, **more: object) -> tuple[BisectStep, list[str]]:
    """Follow the steps with versions from ``first_bad`` on at the new level; what was asked, in order."""
    values: dict[str, list[float]] = {}
    asked: list[str] = []
    while (step := next_step(VERSIONS, LEVELS, values, **more)).ask is not None:  # type: ignore[arg-type]
        asked.append(step.ask)
        side = BAD if VERSIONS.index(step.ask) >= VERSIONS.index(first_bad) else GOOD
        values.setdefault(step.ask, []).append(side[len(values.get(step.ask, []))])
    return step, asked


@pytest.mark.parametrize("first_bad", VERSIONS[1:])
def test_the_version_that_brought_it_is_named_whichever_it_is(first_bad: str) -> None:
    step, asked = bisected(first_bad)

    before = VERSIONS[VERSIONS.index(first_bad) - 1]
    assert (step.last_good, step.first_bad, step.unclear) == (before, first_bad, ())
    # five versions inside: three halvings at most, three starts each; the ends are known
    assert len(asked) <= 9
    assert not {VERSIONS[0], VERSIONS[-1]} & set(asked)


@pytest.mark.parametrize(
    ("values", "side"),
    [
        ([120.0, 120.0], Side.open),
        (GOOD, Side.good),
        (BAD, Side.bad),
        ([100.0, 120.0, 120.0], Side.open),  # they do not agree: two more
        ([100.0, 120.0, 120.0, 120.0, 120.0], Side.bad),
        ([100.0, 120.0, 100.0, 100.0, 100.0], Side.good),
        ([100.0, 120.0, 100.0, 120.0, 120.0], Side.unclear),
    ],
)
def test_a_side_takes_three_of_three_or_four_of_five(values: list[float], side: Side) -> None:
    assert side_of(LEVELS, values) is side


def test_a_rate_that_fell_is_bisected_alike() -> None:
    levels = Levels(old=120.0, new=100.0)

    assert side_of(levels, BAD) is Side.good
    assert side_of(levels, GOOD) is Side.bad


def test_a_version_that_cannot_be_run_is_left_out_and_named() -> None:
    step, asked = bisected("0.33", out=frozenset({"0.32"}))

    assert "0.32" not in asked
    assert (step.last_good, step.first_bad, step.unclear) == ("0.31", "0.33", ("0.32",))
