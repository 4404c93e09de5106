"""The checklist: which questions apply, what an archive answers itself, and what a person must."""

from dataclasses import replace
from typing import Any

import pytest

from assay.review import checks
from assay.review.checklist import Answer, Item, checklist, settled
from assay.review.facts import Facts
from assay.review.questions import QUESTIONS, SET_QUESTIONS
from tests.assay.pages import simulated, simulated_bundle
from tests.traceability import read_requirements

READING = simulated.interpretation("ab" * 32, simulated.aggregates())
FACTS = Facts(
    name="sweep #1",
    spec=simulated_bundle.spec(),
    level="E2",
    identity=simulated_bundle.identity(),
    points=simulated_bundle.observation()["points"],
    clocks=simulated_bundle.clocks(),
    predictions=simulated_bundle.predictions(),
    predictions_first=True,
    reading=READING,
    cancel_checks=READING["cancel_checks"],
)


def items(*facts: Facts) -> dict[str, Item]:
    return {item.key: item for item in checklist(facts or (FACTS,))}


def test_every_question_names_a_requirement_of_the_source() -> None:
    known = read_requirements()

    for question in (*QUESTIONS, *SET_QUESTIONS):
        assert question.requirement in known, question.key


def test_keys_are_single() -> None:
    keys = [question.key for question in (*QUESTIONS, *SET_QUESTIONS)]

    assert len(keys) == len(set(keys))


def test_the_archive_answers_with_what_was_seen() -> None:
    found = items()

    assert found["contract"].automatic is Answer.holds
    assert found["contract"].evidence == ("spec.json: contract each_request, before the run",)
    assert found["predictions"].automatic is Answer.holds
    assert found["cancellation"].evidence == (
        "interpretation: five checks with a result for 1 of 1 cancelled attempt(s)",
    )
    # of the made-up reading's 28 attempts one was rejected
    assert found["rejections"].evidence == ("interpretation: 1 rejected of 28 offered",)


@pytest.mark.parametrize(
    ("key", "field", "value", "said"),
    [
        ("contract", "spec", {}, "no contract"),
        ("boundary", "spec", {"boundary": {"sut": "x"}}, "lacks included parts"),
        ("clocks", "clocks", None, "no clocks.json"),
        ("clocks", "clocks", {"domains": [{"host": "a"}]}, "lacks calibration"),
        ("identity", "identity", None, "no identity.json"),
        ("predictions", "predictions_first", False, "not before the launch"),
        ("cancellation", "cancel_checks", [], "0 of 1 cancelled"),
        ("five-parts", "points", (), "lacks observation points"),
        ("reconciliation", "reading", READING, "unexplained: 1 sent attempt(s)"),
    ],
)
def test_what_the_archive_lacks_does_not_hold(key: str, field: str, value: Any, said: str) -> None:
    item = items(replace(FACTS, **{field: value}))[key]

    assert item.automatic is Answer.does_not_hold
    assert said in item.evidence[0]


def test_a_floating_revision_does_not_hold() -> None:
    identity = simulated_bundle.identity()
    identity["artifact"]["revision"] = "main"

    assert items(replace(FACTS, identity=identity))["revision"].automatic is Answer.does_not_hold


def test_a_measure_without_its_denominator_is_named() -> None:
    aggregates = [{**a, "denominator": ""} for a in READING["aggregates"]]

    item = items(replace(FACTS, reading={**READING, "aggregates": aggregates}))["denominators"]

    assert item.automatic is Answer.does_not_hold
    assert "completion_rate" in item.evidence[0]


def test_questions_are_asked_where_they_apply() -> None:
    spec = simulated_bundle.spec(concurrency=1)
    mocked = {"external_dependencies": [{"name": "search", "mocked": True}]}
    light = replace(FACTS, spec={**spec, "boundary": {**spec["boundary"], **mocked}})

    assert {"light-load", "mocked"} <= set(items(light))
    assert "raised-concurrency" not in items(light)
    assert "raised-concurrency" in items()
    assert not {"light-load", "mocked", "one-way", "kernel-path"} & set(items())
    no_trace = replace(FACTS, identity={"artifact": None, "run": [], "missing": []})
    assert "kernel-path" in items(no_trace)
    assert "files" not in items(no_trace)


def test_a_set_is_asked_about_all_of_its_runs_together() -> None:
    other = replace(
        FACTS, name="sweep #2", spec={**simulated_bundle.spec(), "boundary": {"sut": "a gateway"}}
    )

    found = items(FACTS, other)

    assert "one-boundary" not in items()
    assert found["one-boundary"].automatic is Answer.does_not_hold
    assert found["one-definition"].automatic is Answer.holds
    assert found["one-variable"].automatic is None


def test_one_run_that_does_not_hold_is_enough_and_is_named() -> None:
    other = replace(FACTS, name="sweep #2", clocks=None)

    item = items(FACTS, other)["clocks"]

    assert item.automatic is Answer.does_not_hold
    assert item.evidence[1] == "sweep #2: no clocks.json in the bundle"


def test_an_archive_that_does_not_say_leaves_it_to_a_person() -> None:
    assert items(replace(FACTS, reading={}))["denominators"].automatic is None
    assert items(replace(FACTS, predictions_first=None))["predictions"].automatic is None


def test_only_what_holds_is_settled_without_a_person() -> None:
    assert settled(automatic="holds", answered=False)
    assert not settled(automatic="does_not_hold", answered=False)
    assert not settled(automatic="", answered=False)
    assert settled(automatic="does_not_hold", answered=True)


def test_a_record_of_another_schema_is_left_to_a_person() -> None:
    assert checks.record_complete(FACTS) is None  # the made-up declaration lacks most fields


def test_a_residual_outside_its_range_needs_a_class() -> None:
    # decode_step_s at batch 4: 0.0368 s lies outside [0.0248, 0.0331], with the class model_omission
    assert items()["residual-class"].evidence == (
        "interpretation: 1 outside their range, each classed",
    )
    bare = [{**r, "class": None} for r in READING["residuals"]]

    item = items(replace(FACTS, reading={**READING, "residuals": bare}))["residual-class"]

    assert item.automatic is Answer.does_not_hold
