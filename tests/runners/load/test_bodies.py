"""What goes to the two APIs that are neither chat nor completions."""

import json
from typing import Any

import pytest

from runners.load.requests import parse_target, prepare
from tests.runners.load.drives import plan_row

MESSAGES = [
    {"content": "Be brief.", "role": "system"},
    {"content": "hé", "role": "user"},
]


def asked(endpoint: str, messages: list[dict[str, str]], **row: Any) -> tuple[str, dict[str, Any]]:
    """Head and body of the request for such a row."""
    prompt = {"prompt_ref": "s", "messages": json.dumps(messages), "token_ids": [1, 2]}
    (request,) = prepare(
        [plan_row(endpoint=endpoint, prompt_ref="s", sampling_seed=7, **row)],
        {"s": prompt},
        target=parse_target("http://h"),
        model="m",
        reuse=True,
    )
    head, _, body = request.payload("a-1").decode().partition("\r\n\r\n")
    assert f"Content-Length: {len(body.encode())}\r\n" in head
    return head, json.loads(body)


def test_responses_are_asked_with_input_and_instructions() -> None:
    head, body = asked("responses", MESSAGES, temperature=0.5, top_p=0.9)

    assert head.startswith("POST /v1/responses HTTP/1.1\r\n")
    assert "Accept: text/event-stream\r\n" in head
    assert body == {
        "input": [{"content": "hé", "role": "user"}],
        "instructions": "Be brief.",
        "model": "m",
        "stream": True,
        "max_output_tokens": 16,
        "temperature": 0.5,
        "top_p": 0.9,
    }


def test_messages_are_asked_with_their_own_names_and_the_version_of_the_api() -> None:
    head, body = asked("messages", MESSAGES, temperature=0.5, top_p=0.9, top_k=40, stop=["\n"])

    assert head.startswith("POST /v1/messages HTTP/1.1\r\n")
    assert "\r\nanthropic-version: 2023-06-01\r\n" in head
    assert body == {
        "messages": [{"content": "hé", "role": "user"}],
        "system": "Be brief.",
        "model": "m",
        "stream": True,
        "max_tokens": 16,
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 40,
        "stop_sequences": ["\n"],
    }


@pytest.mark.parametrize(
    ("endpoint", "name"), [("responses", "instructions"), ("messages", "system")]
)
def test_without_a_system_message_nothing_stands_for_one(endpoint: str, name: str) -> None:
    _, body = asked(endpoint, MESSAGES[1:])

    assert name not in body
