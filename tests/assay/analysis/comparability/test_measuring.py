"""How far the client's own figures can be trusted is said of each run that is no A or B."""

import pytest

from assay.analysis.comparability.measuring import measuring_notes
from assay.analysis.comparability.sides import sides_of
from tests.assay.analysis.comparability.runs import run


@pytest.mark.parametrize("letter", ["A", "B"])
def test_trusted_figures_need_no_words(letter: str) -> None:
    assert measuring_notes(sides_of([run("a", grade=letter)])) == ()


def test_a_disturbed_run_is_named_with_its_worst_reason() -> None:
    disturbed = run("a", grade="C", grade_reasons=("disturbed: others used 1.00 cores", "more"))

    assert measuring_notes(sides_of([disturbed])) == (
        "A, a: grade C, disturbed: others used 1.00 cores",
    )


def test_runs_without_a_grade_are_named_together() -> None:
    sides = sides_of([run("a"), run("b", "load.concurrency=1")])

    assert measuring_notes(sides) == (
        "A, B: how far their client's figures can be trusted is not known",
    )


def test_a_run_without_numbers_has_no_figures_to_trust() -> None:
    assert measuring_notes(sides_of([run("a", definition_version=None)])) == ()
