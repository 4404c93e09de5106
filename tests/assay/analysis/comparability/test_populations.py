"""Populations that differ are said, each in one sentence, before any number."""

from dataclasses import replace

import pytest

from assay.analysis.comparability.populations import (
    caps_reached,
    lengths,
    pooled,
    population_notes,
)
from assay.analysis.comparability.record import Population
from assay.analysis.comparability.sides import sides_of
from tests.assay.analysis.comparability.runs import population, run


def notes(right: Population | None, left: Population | None = None) -> tuple[str, ...]:
    sides = sides_of(
        [
            run("a", population=left or population()),
            run("b", "load.concurrency=1", population=right),
        ]
    )
    return population_notes(sides)


def test_equal_populations_need_no_words() -> None:
    assert notes(population()) == ()


@pytest.mark.req("2.14", "8.20")
def test_failures_and_rejections_are_said() -> None:
    (note,) = notes(population(20, failed=1, rejected=2, timeout=1))

    assert note == (
        "A completed 24 of 24; B 20 of 24 (1 failed, 2 rejected, 1 timeout): "
        "latencies are over those that completed"
    )


def test_equal_shares_of_unequal_counts_need_no_words() -> None:
    # 10 of 20 and 5 of 10 are the same share
    assert notes(population(5, failed=5), left=population(10, failed=10)) == ()


def test_lengths_that_differ_are_said_with_both_ranges() -> None:
    longer = replace(population(), output_lengths={24: 12, 40: 12})

    (note,) = notes(longer)

    # nearest rank of 24 values: the twelfth, 24
    assert note == "output tokens: A 24; B 24 to 40, median 24"


@pytest.mark.req("11.05")
def test_lengths_with_nothing_in_common_are_other_shapes() -> None:
    (note,) = notes(replace(population(), input_lengths={512: 24}))

    assert note.startswith("input tokens: A 64; B 512: no length in common")


def test_a_cached_share_that_differs_is_said() -> None:
    # 768 of 24 * 64 = 1536 prompt tokens
    assert notes(replace(population(), cached_tokens=768)) == (
        "cached share of prompts: A 0.0%; B 50.0%",
    )


def test_a_cached_share_that_only_one_server_tells_is_unknown_on_the_other_side() -> None:
    assert notes(replace(population(), cached_tokens=None)) == (
        "cached share of prompts: A 0.0%; B: not told by the server",
    )


@pytest.mark.req("5.16")
def test_outputs_that_reached_their_cap_are_counted() -> None:
    (note,) = notes(replace(population(), at_cap={"workload.output_tokens": 6}))

    assert note == "outputs that reached their cap: A 24 of 24; B 6 of 24"


def test_lengths_that_are_not_known_for_all_are_said() -> None:
    found = notes(replace(population(), output_lengths={24: 20}))

    assert found == ("output tokens: known for 20 of 24 completed attempts of B",)


def test_attempts_that_are_not_here_are_said() -> None:
    assert notes(None) == ("B: its attempts cannot be read here",)


def test_the_runs_of_a_side_are_pooled() -> None:
    (side,) = sides_of([run("a1"), run("a2", population=population(20, failed=4))])

    found = pooled(side)

    assert found is not None
    assert (found.offered, found.completed) == (48, 44)
    assert found.at_cap == {"workload.output_tokens": 44}


def test_lengths_of_nothing_are_none() -> None:
    assert lengths({}, of=0) is None
    assert caps_reached(None, population()) is None
