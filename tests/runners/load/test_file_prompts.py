"""Prompts out of a pinned file: read by their form, filtered by length, sampled by the seed, each counted."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from runners.load.file_prompts import Sample, open_file, sample
from runners.load.pinned_files import pinned
from runners.load.place import ONLY, Place
from runners.load.prompt_files import Entries, read_entries
from runners.load.prompts import COMPLETIONS
from runners.protocol.errors import EnvironmentLacks, Refused
from tests.runners.artifacts import real

FIELDS = ("messages_field", "prompt_field", "output_tokens_field", "answer_field")
QUESTIONS = [
    f"{word} and more words" for word in ["one", "two", "three", "four", "five", "six", "seven"]
]


def declared(form: str, **changed: Any) -> dict[str, Any]:
    file = {
        "path": "p",
        "sha256": "0" * 64,
        "format": form,
        **dict.fromkeys(FIELDS),
        "output": "workload",
        "order": "file",
        "min_input_tokens": 1,
        "min_output_tokens": 1,
        "when_short": "refuse",
    }
    return file | changed


def workload(form: str = "jsonl", endpoint: str = COMPLETIONS, **changed: Any) -> dict[str, Any]:
    limits = {"input_tokens": 100, "output_tokens": 50, "seed": 7, "disjoint": "cells"}
    limits |= {name: changed.pop(name) for name in list(changed) if name in limits}
    return {"endpoint": endpoint, "file": declared(form, **changed), **limits}


def entries(folder: Path, text: str, form: str, **changed: Any) -> Entries:
    path = folder / "p"
    path.write_text(text, encoding="utf-8")
    return read_entries(path, declared(form, **changed))


def lines(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def questions(folder: Path, texts: list[str] = QUESTIONS) -> Entries:
    return entries(folder, lines(*({"q": q} for q in texts)), "jsonl", prompt_field="q")


def taken(found: Entries, *, count: int, place: Place = ONLY, **changed: Any) -> Sample:
    return sample(
        found,
        workload(prompt_field="q", **changed),
        real.encoder(),
        count=count,
        place=place,
    )


def texts(found: Sample) -> list[Any]:
    return [p.prompt.messages for p in found.prompts]


def test_a_conversation_gives_its_first_question_and_the_answer_after_it(tmp_path: Path) -> None:
    def turns(*said: tuple[str, str]) -> dict[str, Any]:
        return {"conversations": [{"from": who, "value": text} for who, text in said]}

    text = json.dumps(
        [
            turns(("system", "Be brief."), ("human", "Hi?"), ("gpt", "Hello."), ("human", "Bye")),
            turns(("gpt", "I begin."), ("human", "So?")),
            turns(("human", "Alone?")),
            turns(("human", "  ")),
        ]
    )

    found = entries(tmp_path, text, "sharegpt")

    system = {"role": "system", "content": "Be brief."}
    assert [e.content for e in found.found] == [
        [system, {"role": "user", "content": "Hi?"}],
        [{"role": "user", "content": "Alone?"}],
    ]
    assert [e.answer for e in found.found] == ["Hello.", None]
    assert found.without_question == 2


def test_json_lines_name_their_fields(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "Hi?"}]
    text = lines({"m": messages, "n": 12}, {"m": messages, "n": "9"})

    found = entries(tmp_path, text, "jsonl", messages_field="m", output_tokens_field="n")

    assert [e.content for e in found.found] == [messages, messages]
    assert [e.output_tokens for e in found.found] == [12, 9]


def test_a_csv_cell_may_hold_commas_and_line_breaks(tmp_path: Path) -> None:
    text = '\ufeffq,a\n"Hi, you?\nAnd you?","Fine, ""thanks"""\n'

    (entry,) = entries(tmp_path, text, "csv", prompt_field="q", answer_field="a").found

    assert (entry.content, entry.answer) == ("Hi, you?\nAnd you?", 'Fine, "thanks"')


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("form", "text", "fields", "message"),
    [
        ("sharegpt", "{", {}, "p: Expecting property name"),
        ("sharegpt", "{}", {}, r"p: dict \(allowed: a JSON list"),
        ("sharegpt", '[{"x": 1}]', {}, "p: conversation 1: dict"),
        ("sharegpt", '[{"conversations": [{"from": "tool", "value": "x"}]}]', {}, "conversation 1"),
        ("jsonl", '{"q": "x"}\n{', {"prompt_field": "q"}, "p:2: Expecting"),
        ("jsonl", '{"z": "x"}', {"prompt_field": "q"}, r"p:1: no field q \(allowed: one of z"),
        ("jsonl", '{"q": 3}', {"prompt_field": "q"}, r"p:1 q: int \(allowed: a text"),
        ("jsonl", '{"m": [{"role": "user"}]}', {"messages_field": "m"}, r"p:1 m: .*content"),
        (
            "jsonl",
            '{"q": "x", "n": -1}',
            {"prompt_field": "q", "output_tokens_field": "n"},
            r"p:1 n: -1 \(allowed: a whole number",
        ),
    ],
)
def test_a_damaged_file_is_refused_at_its_line(
    tmp_path: Path, form: str, text: str, fields: dict[str, str], message: str
) -> None:
    with pytest.raises(Refused, match=message):
        entries(tmp_path, text, form, **fields)


@pytest.mark.req("5.12")
def test_every_prompt_is_counted_by_the_pinned_tokenizer(tmp_path: Path) -> None:
    found = taken(questions(tmp_path), count=3)

    assert texts(found) == QUESTIONS[:3]
    for given in found.prompts:
        assert list(given.prompt.token_ids) == real.encoder().encode(given.prompt.messages)


def test_entries_outside_the_lengths_are_left_out_and_counted_by_reason(tmp_path: Path) -> None:
    rows = [
        {"q": "hi", "a": "yes sir"},  # 1 token: below the least of 2
        {"q": "the " * 9, "a": "yes sir"},  # more than 5
        {"q": "what is this", "a": "yes " * 9},  # an answer of more than 4
        {"q": "what was that", "a": None},
        {"q": "who was that", "a": "yes"},  # 1 token: below the least of 2
        {"q": "what is that", "a": "yes sir"},
        {"q": "what is that", "a": "yes sir"},
        {"q": "where is that", "a": "yes sir"},
    ]
    found = entries(tmp_path, lines(*rows), "jsonl", prompt_field="q", answer_field="a")

    chosen = taken(
        found,
        count=2,
        answer_field="a",
        output="file",
        min_input_tokens=2,
        min_output_tokens=2,
        input_tokens=5,
        output_tokens=4,
    )

    assert texts(chosen) == ["what is that", "where is that"]
    assert [p.output_tokens for p in chosen.prompts] == [2, 2]
    assert chosen.summary() == {
        "entries": 8,
        "looked_at": 8,
        "used": 2,
        "repeated": 0,
        "dropped": {
            "answer too long": 1,
            "answer too short": 1,
            "input too long": 1,
            "input too short": 1,
            "no answer": 1,
            "the same text again": 1,
        },
    }


def test_the_seed_alone_decides_the_order_and_nothing_comes_twice(tmp_path: Path) -> None:
    found = questions(tmp_path)

    one, again, other = (
        texts(taken(found, count=7, order="shuffled", seed=seed)) for seed in (7, 7, 8)
    )

    assert one == again
    assert one != other
    assert sorted(one) == sorted(other) == sorted(QUESTIONS)


def test_runs_of_a_study_have_shares_of_the_file_without_a_common_prompt(tmp_path: Path) -> None:
    found = questions(tmp_path)

    def of(position: int, disjoint: str = "cells") -> list[Any]:
        place = Place(position=position, runs=3)
        return texts(taken(found, count=2, order="shuffled", place=place, disjoint=disjoint))

    # seven entries among three runs: 3 + 2 + 2
    assert len({*of(0), *of(1), *of(2)}) == 6
    assert of(0, "run") == of(1, "run")


@pytest.mark.forbids
def test_a_file_that_is_too_short_is_refused_unless_it_may_be_repeated(tmp_path: Path) -> None:
    found = questions(tmp_path)

    with pytest.raises(Refused, match=r"workload.requests: 9 \(allowed: at most 7, the usable"):
        taken(found, count=9)
    with pytest.raises(
        Refused, match=r"at most 3, the usable entries of this run's share \(1 of 3"
    ):
        taken(found, count=4, place=Place(position=0, runs=3))
    repeated = taken(found, count=9, when_short="repeat", disjoint="none")

    assert texts(repeated) == [*QUESTIONS, *QUESTIONS[:2]]
    assert repeated.summary()["repeated"] == 2


def test_a_file_is_found_below_a_root_and_only_there(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root, outside):
        folder.mkdir()
        (folder / "p").write_text("x")
    (root / "link").symlink_to(outside / "p")
    sha = hashlib.sha256(b"x").hexdigest()

    def get(path: str, digest: str = sha) -> Path:
        return pinned(path, digest, roots=[tmp_path / "other", root], field="workload.file")

    assert get("p") == get(str(root / "p")) == root / "p"
    for path in (str(outside / "p"), "../outside/p", "link"):
        with pytest.raises(Refused, match=r"workload\.file\.path: .*below an allowed root"):
            get(path)
    with pytest.raises(Refused, match=f"workload.file.sha256: p has {sha}"):
        get("p", "0" * 64)
    with pytest.raises(EnvironmentLacks, match=r"workload\.file\.path: gone is not there"):
        get("gone")


def test_a_workload_without_a_file_reads_none() -> None:
    assert open_file({"file": None}, roots=[]) is None
