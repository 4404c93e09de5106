"""How an answer is written: what each event holds, and when there is none."""

import json
from typing import Any

import pytest

from runners.engines.torch.api_request import CHAT, COMPLETIONS, Asked
from runners.engines.torch.api_response import Answer
from tests.runners.engines.torch.steps import call


def answer(kind: str, **changed: Any) -> Answer:
    values: dict[str, Any] = {"stream": True, "include_usage": True, "return_token_ids": False}
    asked = Asked(kind=kind, call=call("r1", [5, 6, 7], 4), **(values | changed))
    return Answer(asked=asked, model="served", created=1)


def document(event: bytes | None) -> dict[str, Any]:
    assert event is not None
    assert event.startswith(b"data: ")
    assert event.endswith(b"\n\n")
    read: dict[str, Any] = json.loads(event[6:])
    return read


def test_a_chat_opens_with_its_role_and_a_completion_does_not() -> None:
    opening = document(answer(CHAT).opening())

    assert opening["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert "prompt_token_ids" not in opening
    assert answer(COMPLETIONS).opening() is None


def test_prompt_ids_come_once_and_first_when_ids_are_asked_for() -> None:
    chat = answer(CHAT, return_token_ids=True)
    text = answer(COMPLETIONS, return_token_ids=True)

    chunks = [document(text.chunk(token, "x", None)) for token in (8, 9)]

    assert document(chat.opening())["prompt_token_ids"] == [5, 6, 7]
    assert [chunk.get("prompt_token_ids") for chunk in chunks] == [[5, 6, 7], None]
    assert [chunk["choices"][0]["token_ids"] for chunk in chunks] == [[8], [9]]


def test_a_token_without_text_is_written_only_if_ids_were_asked_for() -> None:
    silent = answer(CHAT)
    with_ids = answer(CHAT, return_token_ids=True)

    assert silent.chunk(8, "", None) is None
    assert document(with_ids.chunk(8, "", None))["choices"][0]["delta"] == {"content": ""}
    # the last one is always written: it carries the reason
    assert document(silent.chunk(2, "", "stop"))["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize("kind", [CHAT, COMPLETIONS])
def test_usage_counts_tokens_and_not_chunks(kind: str) -> None:
    made = answer(kind)
    for token, text, finish in ((8, "a", None), (9, "", None), (2, "", "stop")):
        made.chunk(token, text, finish)

    last = document(made.usage_chunk())

    # 3 prompt tokens and 3 sampled ones in 2 written chunks
    assert last["choices"] == []
    assert last["usage"]["prompt_tokens"] == 3
    assert last["usage"]["completion_tokens"] == 3
    assert last["usage"]["total_tokens"] == 6
    assert last["usage"]["prompt_tokens_details"] == {"cached_tokens": 0}


def test_the_whole_answer_is_the_pieces_joined() -> None:
    made = answer(CHAT, return_token_ids=True)
    for token, text, finish in ((8, "Hel", None), (9, "lo", "length")):
        made.take(token, text, finish)

    whole = made.whole()

    assert whole["choices"][0]["message"] == {"role": "assistant", "content": "Hello"}
    assert whole["choices"][0]["finish_reason"] == "length"
    assert whole["choices"][0]["token_ids"] == [8, 9]
    assert whole["id"] == "chatcmpl-r1"
