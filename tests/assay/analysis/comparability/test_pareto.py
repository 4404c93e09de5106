"""The front holds the sides that no other side beats in both."""

from assay.analysis.comparability.numbers import MetricRow, metric_rows
from assay.analysis.comparability.pareto import front
from assay.analysis.comparability.sides import sides_of
from tests.assay.analysis.comparability.runs import number, run


def rows(*points: tuple[float | None, float]) -> tuple[MetricRow, MetricRow]:
    """(latency, throughput) of each side."""
    runs = [
        run(
            f"r{n}",
            f"load.concurrency={n + 1}",
            numbers=(
                number(latency),
                number(
                    throughput, rule="throughput.output_tokens", statistic="rate", unit="token/s"
                ),
            ),
        )
        for n, (latency, throughput) in enumerate(points)
    ]
    latency, throughput = metric_rows(sides_of(runs))
    return latency, throughput


def test_a_side_that_another_beats_in_both_is_behind_the_front() -> None:
    latency, throughput = rows((0.1, 50.0), (0.2, 90.0), (0.3, 80.0))

    found = front("ABC", latency=latency, throughput=throughput)

    # C is slower than B and gives less
    assert [(p.letter, p.on_front) for p in found] == [("A", True), ("B", True), ("C", False)]


def test_equal_points_are_both_on_the_front() -> None:
    latency, throughput = rows((0.1, 50.0), (0.1, 50.0))

    assert all(p.on_front for p in front("AB", latency=latency, throughput=throughput))


def test_a_side_without_one_of_the_numbers_has_no_point() -> None:
    latency, throughput = rows((0.1, 50.0), (None, 90.0))

    assert [p.letter for p in front("AB", latency=latency, throughput=throughput)] == ["A"]


def test_without_a_metric_there_is_no_front() -> None:
    assert front("AB", latency=None, throughput=None) == ()
