"""The closed list of answers, each reached and none reached by an empty check."""

import pytest

from assay.analysis.regression.answers import GREEN, NEVER_GREEN, Answer, Better
from assay.analysis.regression.baseline import Baseline
from assay.analysis.regression.check import Check, Watched, check
from assay.analysis.regression.investigation import Ask, Fresh
from assay.analysis.regression.series import Difference, Start

METRIC = "tpot.last_token p50"
WATCHED = Watched(metric=METRIC, better=Better.less)
BASELINE = Baseline(level=100.0, scale=1.0, starts=12)


def start(value: float | None = 100.0, **more: object) -> Start:
    return Start(**({"run": "r", "ended": True, "identity": {}, "values": {METRIC: value}} | more))  # type: ignore[arg-type]


def answer(newest: Start | None, **more: object) -> Check:
    value = newest.values.get(METRIC) if newest else None
    given = {"baseline": BASELINE, "since": [value] if value is not None else [], **more}
    return check(WATCHED, newest, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("newest", "expected"),
    [
        (None, Answer.missing),
        (start(None), Answer.missing),
        (start(values={}), Answer.missing),
        (start(ended=False), Answer.failed),
        (start(invalid="disturbed: others used 1.2 cores"), Answer.invalid),
        (start(client_limited=True), Answer.client_limited),
    ],
    ids=["no run", "null", "vanished", "failed", "disturbed", "client limited"],
)
def test_without_a_number_that_counts_there_is_no_green_answer(
    newest: Start | None, expected: Answer
) -> None:
    found = answer(newest)

    assert found.answer is expected
    assert found.answer in NEVER_GREEN
    assert found.reason


def test_another_machine_is_not_comparable_however_good_its_numbers() -> None:
    moved = Difference(field="device", before="one", after="other")

    found = answer(start(100.0), differences=[moved])

    assert found.answer is Answer.not_comparable
    assert "device" in found.reason


def test_without_a_baseline_it_is_insufficient() -> None:
    assert answer(start(100.0), baseline=None).answer is Answer.insufficient


def test_within_the_spread_it_is_ok() -> None:
    assert answer(start(101.9)).answer is Answer.ok


def test_a_suspicion_asks_for_a_pair_and_a_far_one_for_a_repeat() -> None:
    near, far = answer(start(104.0)), answer(start(110.0))

    assert (near.answer, near.step and near.step.ask) == (Answer.suspected, Ask.pair)
    assert (far.answer, far.step and far.step.ask) == (Answer.suspected, Ask.repeat)


@pytest.mark.parametrize(
    ("better", "value", "expected"),
    [
        (Better.less, 110.0, Answer.confirmed),
        (Better.less, 90.0, Answer.improved),
        (Better.more, 110.0, Answer.improved),
        (Better.more, 90.0, Answer.confirmed),
    ],
)
def test_repeats_confirm_in_both_directions(better: Better, value: float, expected: Answer) -> None:
    found = check(
        Watched(metric=METRIC, better=better),
        start(value),
        baseline=BASELINE,
        since=[value],
        fresh=Fresh(repeats=(value,) * 3),
    )

    assert found.answer is expected
    assert found.step is not None
    assert found.step.ask is Ask.nothing


def test_a_repeat_that_does_not_show_it_again_goes_on_to_pairs() -> None:
    found = answer(start(110.0), fresh=Fresh(repeats=(100.0,)))

    assert (found.answer, found.step and found.step.ask) == (Answer.suspected, Ask.pair)


def test_pairs_that_do_not_show_it_end_the_suspicion() -> None:
    found = answer(start(104.0), fresh=Fresh(pairs=((100.0, 100.5),) * 4))

    assert found.answer is Answer.ok
    assert "did not show" in found.reason


def test_every_answer_is_green_never_green_or_says_that_it_is_open_or_bad() -> None:
    assert set(Answer) == GREEN | NEVER_GREEN | {Answer.suspected, Answer.confirmed}
    assert not GREEN & NEVER_GREEN
