"""Timestamps, counts and text of a reply."""

import base64
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.analysis.attempt_document import attempt_document, class_counts
from assay.analysis.errors import BadRecord
from assay.analysis.metrics.client import ttft_first_content, ttft_first_visible
from runners.protocol.events import ClientState
from tests.assay.analysis.streams import (
    DONE,
    MS,
    attempts,
    delta,
    event,
    one,
    read,
    reply,
    row,
    usage,
)


@pytest.mark.req("6.03", "6.04")
def test_four_client_instants_are_four_facts() -> None:
    attempt = reply(
        (5, ": hello\n\n"),
        (10, delta("", role="assistant")),
        (20, delta(reasoning="hm")),
        (30, delta("yes")),
        (40, delta("", finish="stop") + usage(2)),
        (50, DONE),
    )

    assert attempt.first_byte_ns == 5 * MS
    assert attempt.reply.first_content_ns == 20 * MS
    assert attempt.reply.first_visible_ns == 30 * MS
    assert attempt.done_ns == 50 * MS
    assert ttft_first_content(attempt, None) == 0.02
    assert ttft_first_visible(attempt, None) == 0.03


@pytest.mark.req("6.01", "6.02")
def test_content_classes_are_not_exclusive() -> None:
    attempt = reply(
        (10, delta("", role="assistant")),
        (20, delta("a", reasoning="b", finish="stop")),
        (30, usage(2)),
    )

    counts = class_counts(attempt)

    assert counts["protocol"] == 1
    assert counts["answer"] == counts["reasoning"] == 1
    assert counts["terminal"] == 2  # the finish reason and the usage


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_reasoning_has_several_names(name: str) -> None:
    thought: dict[str, Any] = {name: "think"}

    attempt = reply((10, delta(**thought)), (20, delta("say", finish="stop")))

    assert (attempt.reply.reasoning_text, attempt.reply.text) == ("think", "say")


def test_reasoning_sent_under_two_names_counts_once() -> None:
    attempt = reply((10, delta(reasoning="a", reasoning_content="a", finish="stop")))

    assert attempt.reply.reasoning_text == "a"


def test_a_refusal_is_content_but_no_visible_answer() -> None:
    attempt = reply((10, delta(refusal="no", finish="stop")))

    assert attempt.reply.first_content_ns == 10 * MS
    assert attempt.reply.first_visible_ns is None
    assert attempt.reply.refusal_text == "no"


@pytest.mark.req("6.11")
def test_a_tool_call_is_put_together_from_its_deltas() -> None:
    def part(**call: Any) -> str:
        return delta(tool_calls=[{"index": 0, **call}])

    attempt = reply(
        (10, part(id="c1", function={"name": "find", "arguments": ""})),
        (20, part(function={"arguments": '{"q":'})),
        (30, part(function={"arguments": "1}"})),
        (40, delta("", finish="tool_calls")),
    )

    document = attempt_document(attempt, None)
    assert document["tool_calls"] == [{"id": "c1", "name": "find", "arguments": '{"q":1}'}]
    assert document["timestamps_ns"]["first_content_event"] == 10 * MS
    assert document["counts"]["content_chunks"] == 3


def test_a_whole_json_reply_is_one_event_at_its_last_read() -> None:
    body = json.dumps(
        {
            "choices": [{"index": 0, "message": {"content": "hi"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 1},
        }
    )
    attempt = reply((10, body[:20]), (20, body[20:]), closed_ms=30)

    assert attempt.reply.first_content_ns == 20 * MS
    assert (attempt.reply.text, attempt.output_tokens, attempt.prompt_tokens) == ("hi", 1, 3)
    assert attempt.done_ns == 30 * MS


def test_a_last_event_without_its_blank_line_counts_after_a_clean_end() -> None:
    attempt = reply((10, delta("a", finish="stop")), (20, "data: [DONE]"), closed_ms=30)

    assert attempt.reply.done_marker_ns == 20 * MS


def test_a_last_event_that_a_cut_left_unfinished_does_not_count() -> None:
    attempt = one(row("sent", 0), read(10, delta("a").rstrip("\n")), row("error", 20))

    assert attempt.reply.first_content_ns is None


@pytest.mark.req("6.05")
def test_four_counts_stand_apart() -> None:
    counts = attempt_document(
        reply(
            (10, delta("ab", ids=[1, 2])),
            (20, delta("c", ids=[3], finish="stop") + usage(4, 7)),
            (30, DONE),
        ),
        None,
    )["counts"]

    # ids 2 + 1; the server's usage counts its end token too; two content chunks; four events.
    assert counts == {
        "token_ids": 3,
        "usage": 4,
        "retokenized": None,
        "content_chunks": 2,
        "events": 4,
    }


@pytest.mark.req("6.06")
@pytest.mark.forbids
def test_tokens_are_never_counted_from_chunks() -> None:
    document = attempt_document(reply((10, delta("a")), (20, delta("b", finish="stop"))), None)

    assert document["counts"]["usage"] is None
    assert document["counts"]["token_ids"] is None
    assert document["chunk_tokens"] == [None, None]
    assert document["metrics"]["tpot.last_token"]["value"] is None
    assert "unknown" in str(document["metrics"]["tpot.last_token"]["absent"])
    assert document["absent"]["counts.usage"] == "the server sent no usage"


@pytest.mark.req("6.15")
@pytest.mark.forbids
def test_a_session_with_history_is_no_evidence_of_reuse() -> None:
    history = {"session_id": "S"}
    first, second = attempts(
        row("sent", 0, "a", **history),
        read(5, delta("x", ids=[1], finish="stop") + usage(1, 100), "a"),
        row("closed", 6, "a"),
        row("sent", 10, "b", **history),
        read(12, delta("y", ids=[2], finish="stop") + usage(1, 140), "b"),
        row("closed", 13, "b"),
    )

    # One session, the second prompt holds the first, and its answer came sooner: no count says reuse.
    for attempt in (first, second):
        document = attempt_document(attempt, None)
        assert document["session_id"] == "S"
        assert document["cached_tokens"] is None
        assert document["absent"]["cached_tokens"] == "the server did not report cached tokens"
        assert not [rule for rule in document["metrics"] if "cache" in rule or "reuse" in rule]


@pytest.mark.req("6.17")
@pytest.mark.forbids
def test_a_prompt_wholly_from_the_cache_proves_no_result() -> None:
    hit = usage(1, 100, prompt_tokens_details={"cached_tokens": 100})

    truncated = reply((5, delta("x", ids=[1]) + hit))

    assert truncated.reply.cached_tokens == 100
    assert truncated.state is ClientState.failed
    assert truncated.failure == "truncated: neither finish reason nor [DONE]"


def test_usage_that_comes_only_with_the_last_chunk_is_no_chunk_s_own() -> None:
    last = event(
        {
            "choices": [{"index": 0, "delta": {"content": "b"}, "finish_reason": "stop"}],
            "usage": {"completion_tokens": 9},
        }
    )

    attempt = reply((10, delta("a")), (20, last))

    assert attempt.reply.chunk_tokens == [None, None]
    assert attempt.reply.usage_tokens == 9


def test_each_null_time_has_its_reason() -> None:
    document = attempt_document(one(row("created", 0)), None)

    for name in ("scheduled", "sent", "first_byte", "first_content_event", "done"):
        assert document["timestamps_ns"][name] is None
        assert document["absent"][f"timestamps_ns.{name}"]


def test_reads_that_go_back_in_time_are_refused() -> None:
    with pytest.raises(BadRecord, match="at least 10000000, the read before it"):
        attempts(row("sent", 0), read(10, "x"), read(9, "y"))


_PIECES = st.lists(
    st.sampled_from(
        [
            delta("推理"),
            delta("a", ids=[1]),
            delta(reasoning="b", ids=[2, 3]),
            usage(5, 3),
            ": ping\r\n\r\n",
            delta("", role="assistant"),
            event({"choices": [{"index": 1, "delta": {"content": "z"}}]}),
        ]
    ),
    max_size=8,
)


@given(_PIECES, st.data(), st.booleans())
@settings(deadline=None)
def test_any_split_over_reads_gives_the_same_answers(
    pieces: list[str], draw: st.DataObject, raw_http: bool
) -> None:
    body = ("".join(pieces) + delta("!", finish="stop") + DONE).encode()
    if raw_http:
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in (body[:40], body[40:]) if c)
        body = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
    cuts = sorted(draw.draw(st.sets(st.integers(1, len(body) - 1), max_size=15)))

    def said(edges: list[int]) -> Any:
        reads = [
            row("read", 10, b64=base64.b64encode(body[a:b]).decode(), raw_http=raw_http)
            for a, b in pairwise(edges)
        ]
        attempt = one(row("sent", 0), *reads, row("closed", 10, status=200))
        return attempt_document(attempt, None)

    # All reads bear one time, so that the split is the only thing that differs.
    assert said([0, *cuts, len(body)]) == said([0, len(body)])


def test_usage_that_grows_from_the_second_content_event_on_gives_the_later_chunks() -> None:
    def counted(text: str, total: int, finish: str | None = None) -> str:
        choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
        return event({"choices": [choice], "usage": {"completion_tokens": total}})

    attempt = reply((10, delta("a")), (20, counted("b", 3)), (30, counted("c", 5, "stop")))

    # Chunk 2 may hold one or two of the three tokens; chunk 3 holds 5 - 3.
    assert attempt.reply.chunk_tokens == [None, None, 2]


def test_usage_per_chunk_does_not_grow_and_is_no_running_total() -> None:
    def counted(text: str, finish: str | None = None) -> str:
        choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
        return event({"choices": [choice], "usage": {"completion_tokens": 1}})

    attempt = reply((10, counted("a")), (20, counted("b", "stop")))

    assert attempt.reply.chunk_tokens == [1, None]


def test_blanks_before_a_json_reply_do_not_make_it_an_event_stream() -> None:
    attempt = reply(
        (10, "\n"), (20, '{"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}')
    )

    assert attempt.reply.text == "x"
    assert attempt.reply.first_content_ns == 20 * MS
