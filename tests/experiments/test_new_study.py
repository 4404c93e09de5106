"""A study file from answers: it composes to what was answered, and says in comments what it is."""

from pathlib import Path
from typing import Any

import pytest

from experiments.compose import compose
from experiments.errors import Refusal
from experiments.group_titles import titled
from experiments.new_study import Answers, check_name, files

GROUPS = dict(compose(["study=smollm2_smoke"]).choices)
GROUPS.pop("study")


def answers(**more: Any) -> Answers:
    given: dict[str, Any] = {
        "name": "mine",
        "title": 'Is "it" faster: yes # no?',
        "question": "",
        "tags": ["own"],
        "groups": GROUPS,
        "values": {},
    }
    return Answers(**{**given, **more})


def written(folder: Path, made: dict[str, str]) -> Path:
    for name, text in made.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_the_file_composes_to_the_groups_and_words_that_were_answered(tmp_path: Path) -> None:
    made = files(answers())

    composed = compose(["study=mine"], studies=written(tmp_path, made))

    assert list(made) == ["study/mine.yaml"]
    assert {**composed.choices, "study": ""} == {**GROUPS, "study": ""}
    assert composed.document["study"]["title"] == 'Is "it" faster: yes # no?'
    assert composed.document["study"]["tags"] == ["own"]


def test_what_is_set_goes_into_group_files_and_leaves_the_rest_as_it_is(tmp_path: Path) -> None:
    values = {"load.concurrency": 5, "load.timeouts.total_s": 300.0, "workload.stop": ["a: b"]}

    made = files(answers(values=values))

    assert sorted(made) == ["load/mine.yaml", "study/mine.yaml", "workload/mine.yaml"]
    composed = compose(["study=mine"], studies=written(tmp_path, made))
    load = composed.document["load"]
    assert (load["concurrency"], load["kind"]) == (5, "closed")
    assert load["timeouts"] == {**load["timeouts"], "connect_s": 5.0, "total_s": 300.0}
    assert composed.document["workload"]["stop"] == ["a: b"]
    swapped = compose(["study=mine", "load=closed"], studies=tmp_path)
    assert swapped.document["load"]["concurrency"] == 2


@pytest.mark.forbids
@pytest.mark.parametrize("name", ["", "../x", "Mine", "a b", "-m", "x" * 61, "mine"])
def test_a_name_that_is_no_word_or_is_taken_is_refused(name: str) -> None:
    with pytest.raises(Refusal) as caught:
        check_name(name, taken=["mine"])

    assert caught.value.findings[0].field == "name"


def test_a_choice_says_what_it_is_in_its_own_words(tmp_path: Path) -> None:
    own = written(tmp_path, files(answers()))
    shipped = Path(__file__).parents[2] / "experiments" / "conf"

    found = titled(
        {"study": ["smollm2_smoke", "mine"], "load": ["closed"]}, shipped=shipped, own=own
    )

    smoke, mine = found["study"]
    assert (smoke.title, smoke.is_own) == (
        "SmolLM2-135M-Instruct on the torch engine, a few short requests",
        False,
    )
    assert (mine.title, mine.is_own) == ('Is "it" faster: yes # no?', True)
    assert found["load"][0].title == (
        "Closed loop: so many workers, each sends its next request when the last one has ended."
    )
