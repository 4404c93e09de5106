"""A plan is frozen runs in a seeded, recorded order."""

import json

import pytest

from experiments.compose import compose, compose_sweep
from experiments.errors import Refusal
from experiments.plan import plan, run_order
from tests.experiments.declarations import STUDY


def test_a_run_spec_cannot_be_changed_through_what_it_hands_out() -> None:
    spec = plan([compose([STUDY])])[0]

    spec.document["load"]["concurrency"] = 99

    assert spec.document["load"]["concurrency"] == 4
    with pytest.raises(AttributeError):
        spec.digest = "x"  # type: ignore[misc]


def test_the_text_of_a_spec_is_its_whole_declaration_with_context() -> None:
    spec = plan([compose([STUDY, "study.notes=hello"])])[0]

    assert json.loads(spec.text) == spec.document
    assert spec.document["study"]["notes"] == "hello"


def test_variables_are_what_differs_between_the_cells() -> None:
    specs = plan(compose_sweep([STUDY, "load.concurrency=1,2", "workload.output_tokens=8"]))

    assert sorted(s.variables["load.concurrency"] for s in specs) == [1, 2]
    assert all(list(s.variables) == ["load.concurrency"] for s in specs)


def test_a_single_run_moves_nothing() -> None:
    assert plan([compose([STUDY])])[0].variables == {}


def test_a_swept_group_moves_all_fields_that_differ() -> None:
    specs = plan(compose_sweep([STUDY, "load=closed,poisson"]))

    assert set(specs[0].variables) == {"load.kind", "load.concurrency", "load.rate_per_s"}


def test_repetitions_are_runs_of_their_own_with_one_digest() -> None:
    specs = plan([compose([STUDY, "study.repetitions=3"])])

    assert [s.repetition for s in specs] == [0, 1, 2]
    assert [s.position for s in specs] == [0, 1, 2]
    assert len({s.digest for s in specs}) == 1


def test_the_order_is_drawn_from_the_seed_and_each_repetition_holds_every_cell() -> None:
    overrides = [STUDY, "load.concurrency=range(1,9)", "study.repetitions=2", "study.seed=3"]

    first, second = plan(compose_sweep(overrides)), plan(compose_sweep(overrides))

    assert [s.cell for s in first] == [s.cell for s in second]
    assert sorted(s.cell for s in first[:8]) == list(range(8))
    assert sorted(s.cell for s in first[8:]) == list(range(8))
    assert [s.cell for s in first] != sorted(s.cell for s in first)


def test_the_seeded_order_is_the_same_for_ever() -> None:
    # Fisher-Yates over random.Random(1).random() = 0.1344, 0.8474, 0.7638, ...: last=3 picks int(0.1344*4)=0,
    # [3,1,2,0]; last=2 picks int(0.8474*3)=2, unchanged; last=1 picks int(0.7638*2)=1, unchanged
    assert run_order(4, 1, "seeded", seed=1) == [(3, 0), (1, 0), (2, 0), (0, 0)]


def test_the_declared_order_is_kept_when_asked_for() -> None:
    assert run_order(3, 2, "declared", seed=1) == [(c, r) for r in (0, 1) for c in (0, 1, 2)]


def test_the_same_cell_twice_is_refused() -> None:
    with pytest.raises(Refusal, match=r"study\.repetitions"):
        plan(compose_sweep([STUDY, "load.concurrency=2,2"]))


def test_a_sweep_over_the_study_itself_is_refused() -> None:
    with pytest.raises(Refusal, match="one study"):
        plan(compose_sweep(["study=smollm2_torch,smollm2_smoke"]))


def test_no_repetition_at_all_is_refused() -> None:
    with pytest.raises(Refusal, match=r"study\.repetitions"):
        plan([compose([STUDY, "study.repetitions=0"])])


def test_the_findings_of_all_cells_are_reported_once_each() -> None:
    with pytest.raises(Refusal) as caught:
        plan(compose_sweep([STUDY, "load.concurrency=0,-1,2", "artifact.revision=main"]))

    assert [f.field for f in caught.value.findings] == [
        "artifact.revision",
        "load.concurrency",
        "load.concurrency",
    ]
