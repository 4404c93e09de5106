"""Only the same metric has a difference, and each side says what it has."""

import pytest

from assay.analysis.comparability.numbers import MetricRow, check_same_metric, metric_rows
from assay.analysis.comparability.record import RunRecord
from assay.analysis.comparability.sides import sides_of
from assay.analysis.errors import ClaimRefused
from tests.assay.analysis.comparability.runs import number, run


def rows(*runs: RunRecord) -> tuple[MetricRow, ...]:
    return metric_rows(sides_of(runs))


def b(name: str = "b", **fields: object) -> RunRecord:
    return run(name, "load.concurrency=1", **fields)  # type: ignore[arg-type]


def test_one_start_keeps_its_interval_as_one_within_this_start() -> None:
    (row,) = rows(run("a", ttft_s=0.1), b(ttft_s=0.125))

    first = row.values[0]
    assert first.value == 0.1
    assert (first.low, first.high) == pytest.approx((0.09, 0.11))
    assert first.spread.endswith("within this start")
    (difference,) = row.differences
    assert difference is not None
    assert difference.interval is None


def test_several_starts_a_side_give_means_ranges_and_an_interval_of_the_difference() -> None:
    sides = [run(f"a{n}", ttft_s=v) for n, v in enumerate((9.0, 10.0, 11.0))]
    sides += [b(f"b{n}", ttft_s=v) for n, v in enumerate((19.0, 20.0, 21.0))]

    (row,) = rows(*sides)

    # means 10 and 20; Welch as in test_between_starts: 10 -+ 2.26696
    assert [(v.value, v.low, v.high, v.fresh) for v in row.values] == [
        (10.0, 9.0, 11.0, 3),
        (20.0, 19.0, 21.0, 3),
    ]
    assert row.values[0].spread == "lowest and highest of 3 runs"
    assert row.values[0].n == 72  # 24 samples in each of 3 starts
    (difference,) = row.differences
    assert difference is not None
    assert difference.starts == (3, 3)
    assert difference.interval is not None
    assert difference.interval.low == pytest.approx(7.73304, abs=1e-4)


@pytest.mark.forbids
@pytest.mark.req("6.10", "14.03")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rule", "ttft.first_byte.client"),
        ("statistic", "p95"),
        ("unit", "ms"),
        ("perspective", "server"),
        ("population", "completed attempts, all"),
    ],
)
def test_numbers_of_two_definitions_have_no_difference(field: str, value: str) -> None:
    with pytest.raises(ClaimRefused) as refused:
        check_same_metric(number(0.1), number(0.1, **{field: value}))

    assert field in refused.value.finding.field
    assert value in refused.value.finding.seen


@pytest.mark.forbids
@pytest.mark.req("1.06", "1.08")
def test_a_number_over_another_population_stands_without_a_difference() -> None:
    other = number(0.2, population="completed attempts, segment load, rerank calls")

    (row,) = rows(run("a"), b(numbers=(other,)))

    assert [v.value for v in row.values] == [0.1, 0.2]
    assert row.differences == (None,)
    assert "rerank calls" in row.refused[0]


def test_a_number_that_a_side_lacks_says_why() -> None:
    (row,) = rows(run("a"), b(ttft_s=None))

    assert row.differences == (None,)
    assert row.refused == ("B: too few samples for p50: 1, at least 2 are needed",)
    assert row.values[1].value is None


def test_a_rule_of_one_side_only_has_no_difference() -> None:
    own = number(0.05, rule="ttft.server", perspective="server", limited_by="E2")

    found = rows(run("a"), b(numbers=(number(0.2), own)))

    server = next(row for row in found if row.rule == "ttft.server")
    assert server.differences == (None,)
    assert server.refused == ("A has no number by this rule",)


def test_a_start_without_the_number_leaves_the_others_and_is_counted_out() -> None:
    (row,) = rows(run("a1", ttft_s=0.1), run("a2", ttft_s=None), b(ttft_s=0.2))

    assert (row.values[0].values, row.values[0].fresh) == ((0.1,), 1)


def test_the_caller_s_view_limits_a_difference_of_unequal_levels() -> None:
    (row,) = rows(run("a"), b(numbers=(number(0.2, limited_by="E2"),)))

    assert row.limited_by == "E1"


def test_the_stages_of_a_load_are_metrics_of_their_own() -> None:
    stages = tuple(
        number(v, population=f"attempts, segment load, {stage}")
        for stage, v in (("stage 1", 1.0), ("stage 2", 2.0))
    )

    found = rows(run("a", numbers=stages), b(numbers=stages))

    assert [row.values[0].value for row in found] == [1.0, 2.0]
