"""Reasoning between tags inside the answer, only where the tags are declared."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.wire.content import ANSWER, REASONING
from assay.analysis.wire.declared import NOTHING_DECLARED, Declared
from assay.analysis.wire.reasoning_tags import ReasoningTags, TagSplitter
from assay.analysis.wire.reply import Reply
from tests.fuzz.wire_invariants import read

TAGS = ReasoningTags(opens="<think>", closes="</think>")


def reply(*texts: str, declared: Declared) -> Reply:
    events = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in texts]
    return read([f"data: {json.dumps(e)}\n\n".encode() for e in events], declared).reply


def test_declared_tags_part_reasoning_from_answer_though_split_over_chunks() -> None:
    found = reply("<thi", "nk>", "hm", "</think>", "yes", declared=Declared(reasoning_tags=TAGS))

    assert (found.reasoning_text, found.text) == ("hm", "yes")
    # Five events carried generated tokens; the first four are reasoning, its tags included.
    assert len(found.chunk_times_ns) == 5
    assert found.first_content_ns == 1_000
    assert found.first_visible_ns == 5_000
    assert found.class_counts == {REASONING: 4, ANSWER: 1}


def test_tags_that_are_not_declared_are_words_of_the_answer() -> None:
    found = reply("<think>hm</think>yes", declared=NOTHING_DECLARED)

    assert (found.reasoning_text, found.text) == ("", "<think>hm</think>yes")


def test_what_never_became_a_tag_is_said_at_the_end() -> None:
    assert reply("a <thi", declared=Declared(reasoning_tags=TAGS)).text == "a <thi"


def test_a_reply_may_start_inside_its_reasoning() -> None:
    inside = ReasoningTags(opens="<think>", closes="</think>", starts_inside=True)

    found = reply("hm</think>yes", declared=Declared(reasoning_tags=inside))

    assert (found.reasoning_text, found.text) == ("hm", "yes")


@pytest.mark.parametrize("opens", ["<think>", "aab"])
@given(st.text(alphabet="<think>/ab", max_size=40), st.lists(st.integers(0, 40), max_size=6))
def test_any_split_of_a_text_gives_the_same_parts(opens: str, text: str, cuts: list[int]) -> None:
    edges = sorted({0, len(text), *(c for c in cuts if c < len(text))})
    tags = ReasoningTags(opens=opens, closes="</think>")

    def parts(pieces: list[str]) -> tuple[str, str]:
        splitter = TagSplitter(tags)
        settled = [*map(splitter.feed, pieces), splitter.held]
        return "".join(r for r, _ in settled), "".join(a for _, a in settled)

    assert parts([text[a:b] for a, b in pairwise(edges)]) == parts([text])
