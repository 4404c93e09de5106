"""Each gate of the detection holds something back: taken away, a series gets another answer.

A mutation test that every run makes: the gate is broken, the same series is followed again, and its answer
must no longer be the right one.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

from assay.analysis.regression import (
    answers,
    baseline,
    bisect,
    change_points,
    check,
    confirmation,
    drift,
    series,
    suspicion,
)
from assay.analysis.regression.answers import Answer, Better
from assay.analysis.regression.baseline import Baseline, baseline_of
from assay.analysis.regression.check import Watched
from assay.analysis.regression.investigation import Fresh
from assay.analysis.regression.series import Start

METRIC = "tpot.last_token p50"
LEVEL = Baseline(level=100.0, scale=1.0, starts=12)
# 100 and 98 in turn: median 99, MAD 1, scale 1.4826 * 12 / 11.2 = 1.5885
TWELVE = [100.0, 98.0] * 6
HOST = {"host": "one"}


def answer(value: float | None, **given: Any) -> Answer:
    """Of one start with this value against ``LEVEL``, or what ``given`` says instead."""
    newest = Start(
        run="r",
        ended=given.pop("ended", True),
        identity=given.pop("identity", HOST),
        values={METRIC: value},
        invalid=given.pop("invalid", ""),
        client_limited=given.pop("client_limited", False),
    )
    pairs, repeats = given.pop("pairs", ()), given.pop("repeats", ())
    return check.check(
        Watched(metric=METRIC, better=given.pop("better", Better.less)),
        newest,
        baseline=given.pop("baseline", LEVEL),
        since=given.pop("since", [value] if value is not None else []),
        differences=series.differences(HOST, newest.identity, variable=given.pop("variable", None)),
        fresh=Fresh(pairs=tuple(pairs), repeats=tuple(repeats)),
    ).answer


def baseline_or_none(values: list[float]) -> Baseline | None:
    try:
        return baseline_of(values)
    except baseline.TooFewStarts:
        return None


def nothing(*_: Any, **__: Any) -> None:
    return None


@dataclass(frozen=True)
class Gate:
    """``look`` gives ``right`` with the gate whole, and something else once ``name`` is ``broken``."""

    name: str
    module: ModuleType
    broken: Any
    look: Callable[[], Any]
    right: Any


def spread(size: float, n: int) -> list[tuple[float, float]]:
    """Pairs that differ by ``size`` per cent on average, one more and one less in turn."""
    return [(100.0, 100.0 + size + (1 if k % 2 else -1)) for k in range(n)]


GATES = [
    # the baseline
    Gate("FEWEST_STARTS", baseline, 2, lambda: baseline_or_none(TWELVE[:11]), None),
    Gate("MAD_TO_SIGMA", baseline, 1.0, lambda: round(baseline.robust_scale(TWELVE), 4), 1.5885),
    Gate("_SMALL_SAMPLE", baseline, 0.0, lambda: round(baseline.robust_scale(TWELVE), 4), 1.5885),
    Gate("RELATIVE_FLOOR", baseline, 0.0, lambda: baseline_of([100.0] * 12).scale, 0.5),
    # the suspicion
    Gate("START_BEYOND", suspicion, 99.0, lambda: answer(102.1), Answer.suspected),
    Gate("START_BEYOND", suspicion, 0.5, lambda: answer(101.9), Answer.ok),
    # mean of five is 101.5: error sqrt(1/5 + 1/12) = 0.532, 2.8 of them
    Gate("MEAN_BEYOND", suspicion, 99.0, lambda: answer(101.5, since=[101.5] * 5), Answer.suspected),
    Gate("MEAN_BEYOND", suspicion, 0.5, lambda: answer(100.5, since=[100.5] * 5), Answer.ok),
    # the confirmation: repeats
    Gate("FAR", confirmation, 0.0, lambda: answer(  # 5.5 % is 2.75 scales here: near
        105.5, baseline=Baseline(level=100.0, scale=2.0, starts=12), repeats=[105.5] * 3
    ), Answer.suspected),
    Gate("FAR_CHANGE", confirmation, 0.0, lambda: answer(  # 8 scales, and 4 %
        104.0, baseline=Baseline(level=100.0, scale=0.5, starts=12), repeats=[104.0] * 3
    ), Answer.suspected),
    Gate("REPEATS", confirmation, 1, lambda: answer(110.0, repeats=[110.0]), Answer.suspected),
    # the confirmation: pairs
    Gate("LEAST_CHANGE", confirmation, 0.0, lambda: answer(102.5, pairs=spread(2.0, 12)), Answer.ok),
    Gate("_FEWEST_PAIRS", confirmation, 1, lambda: answer(104.0, pairs=spread(9.0, 3)), Answer.suspected),
    # a mean of 3.5 % with an error of 1.5 %: beyond 3 %, and 2.3 errors
    Gate("PAIR_ERRORS", confirmation, 0.0, lambda: answer(
        104.0, pairs=[(100.0, 108.5), (100.0, 98.5)] * 6
    ), Answer.ok),
    # after eight pairs 4 % with the error of the baseline's spread, sqrt(2) / sqrt(8) = 0.5 %: 8 of them
    Gate("_MIDDLE_PAIRS", confirmation, 99, lambda: answer(104.0, pairs=spread(4.0, 8)), Answer.confirmed),
    # 3.2 % with an error of 0.76 % or more: 4.0 of them
    Gate("_MIDDLE_ERRORS", confirmation, 0.0, lambda: answer(
        104.0, pairs=[(100.0, 105.4), (100.0, 101.0)] * 4
    ), Answer.suspected),
    Gate("_HOPELESS_ERRORS", confirmation, 99.0, lambda: answer(104.0, pairs=spread(0.0, 6)), Answer.ok),
    # the last word: 3.5 % with an error of 1.0 %, 3.5 of them; before the twelfth it takes 4.2
    Gate("PAIRS", confirmation, 99, lambda: answer(
        104.0, pairs=[(100.0, 106.8), (100.0, 100.2)] * 6
    ), Answer.confirmed),
    # what may be compared
    Gate("differences", series, lambda *_, **__: (), lambda: answer(
        100.0, identity={"host": "other"}
    ), Answer.not_comparable),
    # what is never green
    Gate("_without_numbers", check, nothing, lambda: answer(
        100.0, invalid="disturbed"
    ), Answer.invalid),
    Gate("_without_numbers", check, nothing, lambda: answer(
        100.0, client_limited=True
    ), Answer.client_limited),
    Gate("GREEN", answers, frozenset(Answer), lambda: bool(answers.GREEN & answers.NEVER_GREEN), False),
    # the looks back
    Gate("LEAST_DRIFT", drift, 0.0, lambda: drifts(0.05), False),
    Gate("TREND_P", drift, 1.1, lambda: drifts(0.0, step=8.0), False),
    Gate("FEWEST_STARTS", drift, 3, lambda: drift.drift(100.0, [100.0, 101.0] * 3), None),
    Gate("LEAST_CHANGE", change_points, 0.0, lambda: change_points.change_points(
        [100.0] * 20 + [102.0] * 20
    ), []),
    Gate("SHORTEST", change_points, 2, lambda: change_points.change_points(
        [100.0] * 20 + [120.0] * 2 + [100.0] * 20
    ), []),
    # the bisection
    Gate("FEWEST_STARTS", bisect, 1, lambda: side([120.0]), bisect.Side.open),
    Gate("_ENOUGH_OF_MOST", bisect, 3, lambda: side([100.0, 120.0] * 2 + [120.0]), bisect.Side.unclear),
]  # fmt: skip


def side(values: list[float]) -> bisect.Side:
    return bisect.side_of(bisect.Levels(old=100.0, new=120.0), values)


def drifts(slope: float, step: float = 0.0) -> bool:
    """Over twenty starts: a line, or an alternation about a level that is off by ``step``."""
    values = [100 + slope * k + (step + (1 if k % 2 else -1) if step else 0) for k in range(20)]
    found = drift.drift(100.0, values)
    return found is not None and found.is_one


@pytest.mark.parametrize(
    "gate", GATES, ids=lambda g: f"{g.module.__name__.rpartition('.')[2]}.{g.name}"
)
def test_a_gate_that_is_broken_gives_another_answer(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert gate.look() == gate.right

    monkeypatch.setattr(gate.module, gate.name, gate.broken)

    with pytest.raises(AssertionError):
        _judge(gate)


def _judge(gate: Gate) -> None:
    try:
        assert gate.look() == gate.right
    except (IndexError, TypeError, ValueError, ArithmeticError) as error:
        raise AssertionError(f"broken beyond an answer: {error}") from error


def test_an_error_of_pairs_that_agree_by_chance_is_not_taken_below_the_baselines_spread() -> None:
    # four pairs of exactly 4 %: their own error is 0, the baseline's 1 % * sqrt(2) / 2 = 0.7 %
    found = confirmation.by_pairs(LEVEL, [(100.0, 104.0)] * 4)

    assert found.error == pytest.approx(0.01 * math.sqrt(2) / 2)
    assert found.verdict is confirmation.Verdict.open
