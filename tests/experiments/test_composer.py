"""The composing process: one JSON line in, one out, and nothing of Hydra's state in whoever asks."""

import json
import subprocess
import sys
from typing import Any

import pytest

from experiments import composer
from experiments.compose import compose
from experiments.plan import plan

ALLOWED = {
    "studies": None,
    "artifact_roots": [],
    "url_hosts": ["127.0.0.1"],
    "max_cells": 4,
    "max_runs": 6,
}


def asked(*overrides: str, sweep: bool = False, **more: Any) -> dict[str, Any]:
    return {**ALLOWED, "overrides": list(overrides), "sweep": sweep, **more}


def test_the_answer_is_the_very_plan_of_the_command_line() -> None:
    [spec] = plan([compose(["study=smollm2_smoke", "load.concurrency=3"])])

    answer = composer.answer(asked("study=smollm2_smoke", "load.concurrency=3"))

    [cell] = answer["cells"]
    assert cell["digest"] == spec.digest
    assert cell["text"].encode() == spec.text
    assert answer["order"] == [[0, 0]]


def test_a_sweep_comes_cell_by_cell_with_its_order() -> None:
    answer = composer.answer(
        asked(
            "study=smollm2_smoke",
            "load.concurrency=1,2",
            "study.repetitions=2",
            "study.order=declared",
            sweep=True,
        )
    )

    assert [c["variables"] for c in answer["cells"]] == [
        {"load.concurrency": 1},
        {"load.concurrency": 2},
    ]
    # each repetition carries out both cells before the next begins
    assert answer["order"] == [[0, 0], [1, 0], [0, 1], [1, 1]]


def test_a_study_can_start_from_groups_alone() -> None:
    groups = ["artifact=smollm2_135m_q4_1", "engine=torch", "workload=smollm2_smoke", "load=closed"]

    answer = composer.answer(asked("study=null", "study.name=from_groups", *groups))

    document = json.loads(answer["cells"][0]["text"])
    assert document["study"]["name"] == "from_groups"
    assert document["engine"]["key"] == "torch"


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (
            asked("study=null", "engine=torch", "workload=smollm2_smoke", "load=closed"),
            "artifact",
        ),
        (asked("study=smollm2_smoke", "+load.x=1"), "load.x"),
        (asked("study=smollm2_smoke", "hydra.run.dir=/tmp/x"), "hydra.run.dir"),
        (asked("study=smollm2_smoke", "load.seed=${oc.env:HOME}"), "load.seed"),
        (asked("study=smollm2_smoke", "load.concurrency=1,2,3,4,5", sweep=True), "sweep"),
        (asked("study=smollm2_smoke", "study.repetitions=7"), "study.repetitions"),
    ],
    ids=["no artifact", "adding", "hydra", "interpolation", "too many cells", "too many runs"],
)
def test_what_may_not_be_asked_is_refused_by_field(request_: dict[str, Any], field: str) -> None:
    answer = composer.answer(request_)

    assert [f["field"] for f in answer["findings"]] == [field]
    assert all(f["allowed"] and f["remedy"] for f in answer["findings"])


def test_the_process_answers_line_by_line_and_ends_with_its_input() -> None:
    lines = [asked("study=smollm2_smoke"), {"nonsense": 1}, asked("study=nowhere")]
    text = "".join(json.dumps(line) + "\n" for line in lines)

    done = subprocess.run(
        [sys.executable, "-m", "experiments.composer"],
        input=text,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )

    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [sorted(a)[0] for a in answers] == ["cells", "broke", "findings"]
    assert answers[2]["findings"][0]["field"] == "study"
