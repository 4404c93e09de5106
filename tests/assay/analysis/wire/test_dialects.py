"""Each dialect gives the same facts: instants, classes, counts, finish reason."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.analysis.wire.attempt import Attempt
from assay.analysis.wire.content import ANSWER, REASONING, TOOL_CALL
from assay.analysis.wire.declared import Declared
from assay.analysis.wire.dialects.table import DIALECTS, of_endpoint
from assay.analysis.wire.said import ToolCall
from runners.protocol.events import ClientState
from tests.assay.analysis import recorded_engines
from tests.fuzz.mutations import encoded, framed
from tests.fuzz.wire_invariants import answers, read

DIALECT_FILES = Path(__file__).parents[3] / "data" / "fixtures" / "dialects"


def fixture(name: str) -> bytes:
    return (DIALECT_FILES / name).read_bytes()


def generate_body() -> bytes:
    """The body of a recorded ``/generate`` stream of SGLang 0.5.23."""
    rows = recorded_engines.rows("sglang-0.5.23-cpu", "http_extra/x5_generate_native_stream")
    return "".join(r["text"] for r in rows if r["kind"] == "read").encode()


WEATHER = '{"city":"Bern"}'


@pytest.mark.req("6.01", "6.03", "6.05")
@pytest.mark.parametrize(
    ("name", "dialect", "facts"),
    [
        # 5 text deltas; usage 11 out of 37 in, 16 of them cached; 5 is no token count
        (
            "responses_text.sse",
            "responses",
            {
                "text": "Hi there! 推理 ready.",
                "usage_tokens": 11,
                "prompt_tokens": 37,
                "cached_tokens": 16,
                "finish_reason": "completed",
                "chunks": 5,
            },
        ),
        # 3 reasoning deltas, the call's name, 3 deltas of its arguments
        (
            "responses_reasoning_tool.sse",
            "responses",
            {
                "reasoning_text": "First look up the weather.",
                "tool_calls": [ToolCall("call_1", "get_weather", WEATHER)],
                "usage_tokens": 21,
                "reasoning_tokens": 6,
                "chunks": 7,
            },
        ),
        (
            "responses_incomplete.sse",
            "responses",
            {
                "text": "Once upon",
                "finish_reason": "max_output_tokens",
                "usage_tokens": 2,
                "chunks": 1,
            },
        ),
        (
            "responses_whole.json",
            "responses",
            {
                "text": "Hi there! 推理 ready.",
                "reasoning_text": "First look up the weather.",
                "tool_calls": [ToolCall("call_1", "get_weather", WEATHER)],
                "usage_tokens": 21,
                "chunks": 1,
            },
        ),
        (
            "messages_text.sse",
            "messages",
            {
                "text": "Hello! 推理",
                "usage_tokens": 15,
                "prompt_tokens": 25,
                "cached_tokens": None,
                "finish_reason": "end_turn",
                "chunks": 3,
            },
        ),
        # prompt 20 + 100 written to + 352 read from the cache = 472; 89 is cumulative, not 40 + 89
        (
            "messages_thinking_tool.sse",
            "messages",
            {
                "text": "Checking the weather:",
                "reasoning_text": "Let me\n\nsee.",
                "tool_calls": [
                    ToolCall("toolu_01T1x1fJ34qAmk2tNTrN7Up6", "get_weather", '{"city": "Bern"}')
                ],
                "usage_tokens": 89,
                "prompt_tokens": 472,
                "cached_tokens": 352,
                "finish_reason": "tool_use",
                "chunks": 6,
            },
        ),
        (
            "messages_whole.json",
            "messages",
            {
                "text": "Hi!",
                "reasoning_text": "Hm.",
                "tool_calls": [ToolCall("toolu_1", "get_weather", '{"city": "Bern"}')],
                "usage_tokens": 503,
                "prompt_tokens": 2095,
                "chunks": 1,
            },
        ),
    ],
)
def test_what_a_reply_of_each_dialect_said(name: str, dialect: str, facts: dict[str, Any]) -> None:
    attempt = read([fixture(name)])
    reply = attempt.reply

    assert (attempt.state, attempt.failure) == (ClientState.completed, None)
    assert (reply.dialect, reply.dialect_by) == (dialect, "recognised")
    found = {n: getattr(reply, n) for n in facts if n != "chunks"}
    assert found | {"chunks": len(reply.chunk_times_ns)} == facts


@pytest.mark.parametrize(
    ("name", "failure", "text"),
    [
        ("responses_failed.sse", "server_error: The model failed to generate a response.", "Once"),
        ("responses_error.sse", "server_error: Slow down.", ""),
        ("messages_error.sse", "server_error: Overloaded", "Hel"),
    ],
)
def test_an_error_in_a_stream_of_each_dialect_is_a_failure(
    name: str, failure: str, text: str
) -> None:
    attempt = read([fixture(name)])

    assert (attempt.state, attempt.failure) == (ClientState.failed, failure)
    assert attempt.reply.text == text


@pytest.mark.parametrize("name", ["responses_text.sse", "messages_text.sse"])
def test_a_stream_without_its_terminal_event_is_truncated(name: str) -> None:
    body = fixture(name)
    cut = body[: body.rindex(b"event: message_delta" if b"message_delta" in body else b"event: ")]

    attempt = read([cut])

    assert str(attempt.failure).startswith("truncated: ")


@pytest.mark.req("6.03")
def test_instants_of_a_dialect_s_stream_are_those_of_its_reads() -> None:
    events = [e + b"\n\n" for e in fixture("messages_thinking_tool.sse").split(b"\n\n")[:-1]]

    attempt = read(events)
    reply = attempt.reply

    # Read n is stamped n us. 1 message_start, 2 block, 3 the first thought, 8 the first visible text
    # (block, thought, thought, signature, stop, block, text), 17 message_stop.
    assert reply.first_content_ns == 3_000
    assert reply.first_visible_ns == 8_000
    assert reply.done_marker_ns == len(events) * 1_000
    # thinking 2; text 1; tool use: its name, an empty delta (protocol), two deltas
    assert {
        c: n for c, n in reply.class_counts.items() if c & (ANSWER | REASONING | TOOL_CALL)
    } == {
        REASONING: 2,
        ANSWER: 1,
        TOOL_CALL: 3,
    }


@pytest.mark.req("6.05", "6.06")
def test_a_cumulative_generate_stream_is_read_as_what_each_event_added() -> None:
    attempt = read([generate_body()])
    reply = attempt.reply

    # As recorded: six tokens, one an event; two of the five prompt tokens came from the cache.
    assert attempt.state is ClientState.completed
    assert reply.dialect == "generate"
    assert reply.text.startswith(" Paris.\n")
    assert list(reply.chunk_tokens) == [1] * 6
    assert (reply.token_ids, reply.usage_tokens, reply.prompt_tokens) == (6, 6, 5)
    assert (reply.cached_tokens, reply.finish_reason) == (2, "length")


def test_an_incremental_generate_stream_is_read_piece_by_piece() -> None:
    body = b"".join(
        b'data: {"text":"%s","output_ids":[7],"meta_info":{"completion_tokens":%d,'
        b'"finish_reason":%s}}\n\n' % (text, n, end)
        for n, text, end in ((1, b"a", b"null"), (2, b"a", b"null"), (3, b"b", b'{"type":"stop"}'))
    )

    reply = read([body]).reply

    assert (reply.text, reply.token_ids, list(reply.chunk_tokens)) == ("aab", 3, [1, 1, 1])
    assert reply.finish_reason == "stop"


def test_words_that_only_a_done_event_says_are_taken_from_it() -> None:
    body = fixture("responses_text.sse")
    without_deltas = b"\n\n".join(e for e in body.split(b"\n\n") if b"text.delta" not in e)

    attempt = read([without_deltas])

    assert attempt.reply.text == "Hi there! 推理 ready."
    assert len(attempt.reply.chunk_times_ns) == 1


@pytest.mark.parametrize(
    ("endpoint", "dialect"),
    [
        ("chat", "choices"),
        ("completions", "choices"),
        ("responses", "responses"),
        ("messages", "messages"),
        ("generate", "generate"),
        ("embeddings", None),
        (None, None),
    ],
)
def test_an_endpoint_declares_its_dialect(endpoint: str | None, dialect: str | None) -> None:
    assert of_endpoint(endpoint) == dialect


def test_a_declared_dialect_goes_before_what_events_look_like() -> None:
    attempt = read([fixture("messages_text.sse")], Declared(dialect="choices"))

    assert (attempt.reply.dialect, attempt.reply.dialect_by) == ("choices", "declared")
    assert attempt.reply.text == ""


STREAMS = {
    "choices": b'data: {"choices":[{"index":0,"delta":{"content":"\xe6\x8e\xa8 a"}}]}\r\n\r\n: c\r\r'
    b'data: {"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}],\n'
    b'data: "usage":{"completion_tokens":2}}\n\ndata:[DONE]\n',
    "responses": fixture("responses_reasoning_tool.sse"),
    "messages": fixture("messages_thinking_tool.sse"),
    "generate": b"".join(
        b'data: {"text":"%s","meta_info":{"completion_tokens":%d,"finish_reason":null}}\n\n'
        % (text.encode(), n)
        for n, text in enumerate(("推", "推理", "推理。"), start=1)
    ),
}


@pytest.mark.parametrize("dialect", DIALECTS)
@given(drawn=st.data())
@settings(deadline=None, max_examples=40)
def test_any_split_of_the_same_bytes_gives_the_same_answers(
    dialect: str, drawn: st.DataObject
) -> None:
    wrap = drawn.draw(st.sampled_from([bytes, framed, encoded, lambda b: framed(b, 7)]))
    whole = wrap(STREAMS[dialect])
    cuts = sorted(drawn.draw(st.sets(st.integers(1, len(whole) - 1), max_size=25)))

    split = read([whole[a:b] for a, b in pairwise([0, *cuts, len(whole)])])

    assert answers(split) == answers(read([whole]))
    assert split.reply.dialect == dialect
    assert _said_something(split)


def _said_something(attempt: Attempt) -> bool:
    return bool(attempt.reply.chunk_times_ns) and attempt.reply.problem is None
