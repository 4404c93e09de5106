"""Text that arrives in pieces equals the text of the whole."""

import pytest
from tokenizers import Tokenizer

from runners.artifacts import gguf_header
from runners.artifacts.tokenizer import from_gguf
from runners.engines.torch.text import StopWatch, TextStream
from tests.runners.engines.torch.launched import smollm2_file


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return from_gguf(gguf_header.read(smollm2_file())).engine


TEXTS = [
    "Hello there.  Two spaces, a\nnew line and a tab\t.",
    "naïve café — 東京 🌍👩‍🚀 done",
    "123 456",
    " leading space",
]


@pytest.mark.parametrize("text", TEXTS)
def test_pieces_join_to_the_whole_text(tokenizer: Tokenizer, text: str) -> None:
    stream = TextStream(tokenizer)
    ids = tokenizer.encode(text, add_special_tokens=False).ids

    pieces = [stream.push(token) for token in ids]

    assert "".join(pieces) + stream.finish() == text
    assert all("\ufffd" not in piece for piece in pieces)


def test_half_a_character_is_held_back(tokenizer: Tokenizer) -> None:
    stream = TextStream(tokenizer)
    ids = tokenizer.encode("🌍", add_special_tokens=False).ids
    assert len(ids) > 1  # the character is cut between tokens

    held = [stream.push(token) for token in ids[:-1]]

    assert held == [""] * (len(ids) - 1)
    assert stream.push(ids[-1]) == "🌍"


def test_an_answer_that_ends_in_half_a_character_says_so(tokenizer: Tokenizer) -> None:
    stream = TextStream(tokenizer)
    ids = tokenizer.encode("ok 🌍", add_special_tokens=False).ids[:-1]
    pieces = [stream.push(token) for token in ids]

    rest = stream.finish()

    assert "".join(pieces).startswith("ok")
    assert rest.strip() == "\ufffd"
    assert "".join(pieces) + rest == tokenizer.decode(ids)


def test_special_tokens_have_no_text(tokenizer: Tokenizer) -> None:
    stream = TextStream(tokenizer)

    assert [stream.push(token) for token in (1, 2)] == ["", ""]
    assert stream.finish() == ""


@pytest.mark.parametrize(
    ("text", "stop", "kept"),
    [
        ("one two three", ["two"], "one "),
        ("one two three", ["ree", "two th"], "one "),
        ("one two three", ["never"], "one two three"),
        ("aab", ["ab"], "a"),
        ("a ST and STOP now", ["STOP"], "a ST and "),
    ],
)
def test_text_ends_before_the_first_stop_string(
    tokenizer: Tokenizer, text: str, stop: list[str], kept: str
) -> None:
    watch = StopWatch(tokenizer, stop)
    given = ""
    for token in tokenizer.encode(text, add_special_tokens=False).ids:
        given += watch.push(token)
        assert kept.startswith(given)  # nothing of a stop string was ever shown
        if watch.hit:
            break

    assert given + watch.finish() == kept
    assert watch.hit == (kept != text)
