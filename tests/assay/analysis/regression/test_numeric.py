"""A deterministic mode: equal token ids, or a regression that no statistics excuse."""

from dataclasses import replace

import pytest

from assay.analysis.regression.answers import GREEN, Answer
from assay.analysis.regression.numeric import numeric_check
from assay.analysis.repetition.comparison import Setting, compare
from assay.analysis.repetition.output_ids import Output

SETTING = Setting(spec_digest="a", plan_digest="b", hardware="host cpu", engine="2.13.0 build")


def output(*tokens: int) -> Output:
    return Output(token_ids={0: tokens}, logprobs={})


FIRST = {f"r{n}": output(1, 2, 3) for n in range(100)}


def test_equal_token_ids_are_ok() -> None:
    answer, reason = numeric_check(SETTING, SETTING, compare(FIRST, FIRST))

    assert (answer, reason) == (Answer.ok, "100 of 100 requests have equal token ids")


@pytest.mark.forbids
@pytest.mark.req("5.22")
@pytest.mark.parametrize("unknown", [{}, {"r1": None}], ids=["alone", "beside one that is unknown"])
def test_one_token_of_a_hundred_requests_is_a_regression(unknown: dict[str, None]) -> None:
    again = {**FIRST, "r7": output(1, 2, 4), **unknown}

    answer, reason = numeric_check(SETTING, SETTING, compare(FIRST, again))

    assert answer is Answer.confirmed
    assert "1 of 100 requests" in reason
    assert "r7 parts at token 2" in reason


@pytest.mark.parametrize(
    ("again", "setting", "expected"),
    [
        ({**FIRST, "r1": None}, SETTING, Answer.missing),
        ({}, SETTING, Answer.missing),
        (FIRST, replace(SETTING, hardware="other cpu"), Answer.not_comparable),
        (FIRST, replace(SETTING, engine=None), Answer.not_comparable),
        (FIRST, replace(SETTING, spec_digest="c"), Answer.not_comparable),
    ],
    ids=["a reply was cut", "nothing came", "other hardware", "version unknown", "declaration"],
)
def test_what_could_not_be_compared_is_never_green(
    again: dict[str, Output | None], setting: Setting, expected: Answer
) -> None:
    answer, reason = numeric_check(SETTING, setting, compare(FIRST, again))

    assert answer is expected
    assert answer not in GREEN
    assert reason
