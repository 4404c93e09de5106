"""The parts of a run, and the runs of a study, have no prompt and no beginning of one in common."""

from typing import Any

import pytest

from runners.load.disjointness import Input, check, common_head
from runners.load.materialise import Materialised, materialise
from runners.load.place import ONLY, Place, place_of, prompt_seed
from runners.protocol.errors import Refused
from tests.experiments.declarations import changed, example
from tests.runners.artifacts import real

# "<|im_start|>system...<|im_end|>\n<|im_start|>user\n"; see test_prompts.py
HEAD = 24


def entry(segment: str, ids: list[int], *, ref: str | None = None, led_by: int = 0) -> Input:
    return Input(segment=segment, name=segment, ref=ref or str(ids), token_ids=ids, led_by=led_by)


def made(document: dict[str, Any], place: Place = ONLY) -> Materialised:
    return materialise(
        document, real.encoder(), tokenizer_sha256="", chat_template_sha256="", place=place
    )


def refs(plan: Materialised) -> set[str]:
    return {row["prompt_ref"] for row in plan.plan}


def test_what_a_template_begins_with_is_known_and_not_looked_at() -> None:
    assert common_head(real.encoder(), endpoint="chat") == HEAD
    assert common_head(real.encoder(), endpoint="completions") == 0


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("one", "other", "what"),
    [
        (entry("warmup", [1, 2], ref="r"), entry("load", [3, 4], ref="r"), "the same prompt"),
        (
            entry("warmup", [*range(16), 1]),
            entry("load", [*range(16), 2]),
            "the same 16 tokens at its beginning",
        ),
        (
            entry("cases", [9, 9, *range(16), 1], led_by=2),
            entry("load", [*range(16), 2]),
            "the same 16 tokens at its beginning",
        ),
    ],
)
def test_parts_that_meet_are_refused_by_name(one: Input, other: Input, what: str) -> None:
    with pytest.raises(Refused, match=f"workload.disjoint: load .* has {what} as {one.segment}"):
        check([one, other], real.encoder(), endpoint="completions")


def test_a_part_may_meet_itself_and_a_declared_prefix_is_no_meeting() -> None:
    check(
        [
            entry("load", [*range(16), 1]),
            entry("load", [*range(16), 2]),
            entry("profile", [*range(15), 77, 3]),
            entry("warmup", [*range(16), *range(50, 70)], led_by=16),
        ],
        real.encoder(),
        endpoint="completions",
    )


def test_runs_of_a_study_have_different_prompts_unless_it_says_otherwise() -> None:
    document = example()
    first, second = (made(document, Place(position=n, runs=2)) for n in (0, 1))

    assert not refs(first) & refs(second)
    assert refs(made(document)) == refs(first)  # a run on its own is the first of its study
    same = changed(document, "workload.disjoint", "run")
    assert refs(made(same, Place(position=1, runs=2))) == refs(first)


def test_the_seed_of_a_run_follows_from_its_place() -> None:
    workload = {"seed": 7, "disjoint": "cells"}

    seeds = [prompt_seed(workload, Place(position=n, runs=9)) for n in range(9)]

    assert seeds[0] == 7
    assert len(set(seeds)) == 9
    assert place_of({}) == ONLY
    assert place_of({"position": 3, "runs": 9}) == Place(position=3, runs=9)
