"""A repetition is compared request by request; the numeric level is claimed only where that can carry it."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from assay.analysis.errors import ClaimRefused
from assay.analysis.repetition.comparison import (
    Repetition,
    Setting,
    Verdict,
    check_comparable,
    compare,
)
from assay.analysis.repetition.levels import LevelEvidence, claim_level, numeric
from assay.analysis.repetition.output_ids import Output
from experiments.schema.artifact import ReproducibilityLevel as Level

HERE = Setting(
    spec_digest="s", plan_digest="p", hardware="480521c904df03cc cpu", engine="2.13.0 6f96"
)


def output(*ids: int, logprobs: tuple[float, ...] = ()) -> Output:
    return Output(token_ids={0: ids}, logprobs={0: logprobs} if logprobs else {})


def compared(first: Mapping[str, Output | None], again: Mapping[str, Output | None]) -> Repetition:
    return compare(first, again)


@pytest.mark.req("5.20")
def test_each_request_is_equal_different_from_a_token_on_or_unknown() -> None:
    found = compared(
        {
            "a": output(1, 2, 3),
            "b": output(1, 2, 3),
            "c": output(1, 2),
            "d": None,
            "e": Output(token_ids=None, logprobs={}),
        },
        {
            "a": output(1, 2, 3),
            "b": output(1, 9, 3),
            "c": output(1, 2, 3),
            "d": output(1),
            "e": output(1),
        },
    )

    assert [(c.request, c.verdict, c.at) for c in found.requests] == [
        ("a", Verdict.equal, None),
        ("b", Verdict.different, 1),
        ("c", Verdict.different, 2),
        ("d", Verdict.unknown, None),
        ("e", Verdict.unknown, None),
    ]


def test_a_request_of_one_run_alone_is_unknown() -> None:
    assert compared({"a": output(1)}, {}).count(Verdict.unknown) == 1


def test_the_largest_difference_of_logprobs_is_told() -> None:
    found = compared(
        {"a": output(1, 2, logprobs=(-0.5, -1.0))}, {"a": output(1, 2, logprobs=(-0.5, -1.25))}
    )

    assert found.requests[0].logprob_gap == pytest.approx(0.25)


@pytest.mark.req("5.20")
def test_equal_ids_on_the_same_hardware_and_version_show_the_numeric_level() -> None:
    evidence = numeric(HERE, HERE, compared({"a": output(1)}, {"a": output(1)}))

    assert claim_level(Level.numeric, [evidence]).words == "1 of 1 requests have equal token ids"


@pytest.mark.req("5.20")
@pytest.mark.forbids
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("hardware", "another"),
        ("engine", "2.14.0"),
        ("engine", None),
        ("spec_digest", "t"),
        ("plan_digest", None),
    ],
)
def test_no_numeric_claim_across_hardware_version_or_declaration(
    field: str, value: str | None
) -> None:
    equal = compared({"a": output(1)}, {"a": output(1)})

    with pytest.raises(ClaimRefused, match=f"repetition.{field}"):
        numeric(HERE, replace(HERE, **{field: value}), equal)


@pytest.mark.req("5.20")
@pytest.mark.forbids
def test_what_is_unknown_in_both_settings_is_not_the_same() -> None:
    unknown = replace(HERE, hardware=None)

    with pytest.raises(ClaimRefused, match="unknown and unknown"):
        check_comparable(unknown, unknown)


@pytest.mark.req("5.20")
@pytest.mark.forbids
@pytest.mark.parametrize(
    ("first", "again"), [({}, {}), ({"a": output(1), "b": None}, {"a": output(1), "b": output(1)})]
)
def test_no_numeric_claim_where_a_request_could_not_be_compared(
    first: Mapping[str, Output | None], again: Mapping[str, Output | None]
) -> None:
    with pytest.raises(ClaimRefused, match=r"repetition\.requests"):
        numeric(HERE, HERE, compared(first, again))


@pytest.mark.req("5.22")
@pytest.mark.forbids
def test_stable_statistics_do_not_excuse_a_failed_determinism_regression() -> None:
    failed = numeric(HERE, HERE, compared({"a": output(1)}, {"a": output(2)}))
    stable = LevelEvidence(level=Level.distribution, held=True, words="p50 within 1 %")

    assert not failed.held
    with pytest.raises(ClaimRefused, match="distribution does not excuse it"):
        claim_level(Level.numeric, [stable, failed])


@pytest.mark.req("5.18", "5.22")
@pytest.mark.forbids
@pytest.mark.parametrize("claimed", [Level.semantic, Level.numeric, Level.input])
def test_one_levels_evidence_does_not_stand_in_for_anothers(claimed: Level) -> None:
    stable = LevelEvidence(level=Level.distribution, held=True, words="p50 within 1 %")

    with pytest.raises(ClaimRefused, match=f"{claimed}, with evidence of distribution"):
        claim_level(claimed, [stable])
