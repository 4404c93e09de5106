"""Prompts have exactly the declared number of input tokens, counted by the pinned template and tokenizer."""

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from runners.load.prompts import PromptWriter, from_content, single_token_words
from runners.protocol.errors import Refused
from tests.runners.artifacts import real

# "<|im_start|>system...<|im_end|>\n<|im_start|>user\n" is 24 tokens, "<|im_end|>\n<|im_start|>assistant\n" 6
TEMPLATE_TOKENS = 30


def writer(endpoint: str = "chat", seed: int = 5) -> PromptWriter:
    return PromptWriter(encoder=real.encoder(), endpoint=endpoint, seed=seed)


@pytest.mark.req("5.12")
@pytest.mark.parametrize("tokens", [31, 32, 33, 64, 1024, 2000])
def test_a_prompt_has_exactly_the_declared_length(tokens: int) -> None:
    prompt = writer().write(tokens, where="workload.input_tokens")

    assert len(prompt.token_ids) == tokens
    assert real.encoder().encode(prompt.expanded) == list(prompt.token_ids)


@pytest.mark.forbids
@pytest.mark.req("5.12")
def test_the_count_is_the_tokenizers_and_not_one_of_characters() -> None:
    short = from_content("a" * 400, endpoint="chat", encoder=real.encoder())
    long = from_content("the " * 100, endpoint="chat", encoder=real.encoder())

    # the same 400 characters: their counts are not in any fixed relation to it
    assert len(short.token_ids) != len(long.token_ids)
    assert len(long.token_ids) == len(real.encoder().encode(long.expanded))


def test_the_template_is_part_of_the_length() -> None:
    prompt = writer().write(40, where="x")
    content = prompt.messages[0]["content"]

    assert len(content.split()) == 40 - TEMPLATE_TOKENS


def test_a_completion_has_no_template() -> None:
    prompt = writer("completions").write(40, where="x")

    assert isinstance(prompt.messages, str)
    assert len(prompt.messages.split()) == 40
    assert prompt.expanded == prompt.messages


def test_a_length_below_the_template_is_refused_and_the_least_is_named() -> None:
    with pytest.raises(Refused, match=r"20 input tokens \(allowed: at least 31\)") as caught:
        writer().write(20, where="workload.cases.0.input_tokens")

    assert caught.value.finding.field == "workload.cases.0.input_tokens"


def test_prompts_never_repeat() -> None:
    own = writer()
    contents = [own.write(31, where="x").messages[0]["content"] for _ in range(200)]

    assert len(set(contents)) == 200


def test_prompts_follow_from_the_seed() -> None:
    first = [writer(seed=1).write(50, where="x").ref for _ in range(2)]

    assert first[0] == first[1]
    assert writer(seed=2).write(50, where="x").ref != first[0]


def test_a_shared_prefix_is_shared_and_the_rest_is_not() -> None:
    own = writer()
    prefix = own.shared_prefix(10)
    prompts = [own.write(60, where="x", prefix=prefix) for _ in range(3)]

    ids = [p.token_ids for p in prompts]
    # 24 tokens of template before the content, then the 10 shared ones
    assert len({i[: 24 + 10] for i in ids}) == 1
    assert len({i[24 + 10 :] for i in ids}) == 3
    assert {len(i) for i in ids} == {60}


def test_a_shared_prefix_that_leaves_no_room_is_refused() -> None:
    own = writer()

    with pytest.raises(Refused, match="at least 41"):
        own.write(40, where="x", prefix=own.shared_prefix(10))


def test_a_text_of_ones_own_is_counted_and_held_to_its_limit() -> None:
    prompt = writer().adopt("Hello", most_tokens=31, where="workload.texts.0")

    assert len(prompt.token_ids) == TEMPLATE_TOKENS + 1
    with pytest.raises(Refused, match=r"workload\.texts\.0: 32 tokens"):
        writer().adopt("Hello Hello", most_tokens=31, where="workload.texts.0")


def test_hashes_are_over_messages_and_token_ids() -> None:
    prompt = from_content("Hello", endpoint="chat", encoder=real.encoder())

    text = json.dumps([{"content": "Hello", "role": "user"}], separators=(",", ":"))
    assert prompt.ref == hashlib.sha256(text.encode()).hexdigest()
    packed = b"".join(struct.pack("<i", i) for i in prompt.token_ids)
    assert prompt.input_sha256 == hashlib.sha256(packed).hexdigest()


def test_every_word_is_one_token_in_both_places() -> None:
    words = single_token_words(real.encoder())

    assert len(words) == 4096
    encoder = real.encoder()
    for word in words[::97]:
        assert len(encoder.encode(word)) == 1
        assert len(encoder.encode(f" {word}")) == 1


class LetterEncoder:
    """A tokenizer without words: one token for each character."""

    vocabulary = 128

    def render(self, messages: Sequence[Mapping[str, Any]]) -> str:
        return "".join(str(m["content"]) for m in messages)

    def encode(self, text: str) -> list[int]:
        return [ord(c) for c in text]

    def token_text(self, token_id: int) -> str | None:
        return chr(token_id)


def test_a_vocabulary_without_words_is_refused() -> None:
    with pytest.raises(Refused, match=r"workload\.prompt_source"):
        PromptWriter(encoder=LetterEncoder(), endpoint="chat", seed=0)


class GluingEncoder(LetterEncoder):
    """Each word is one token, but two words next to each other melt into one."""

    vocabulary = 1

    def token_text(self, token_id: int) -> str | None:
        return "Ġword"

    def encode(self, text: str) -> list[int]:
        return [0]


def test_a_prompt_whose_count_does_not_come_out_is_refused_and_never_padded() -> None:
    own = PromptWriter(encoder=GluingEncoder(), endpoint="chat", seed=0)

    with pytest.raises(Refused, match="No new prompt came out"):
        own.write(5, where="workload.input_tokens")
