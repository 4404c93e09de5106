"""Recorded streams that cannot be read are refused with their line."""

import json
from typing import Any

import pytest

from assay.analysis.asked import service_levels, window
from assay.analysis.errors import BadRecord
from assay.analysis.events import Fact, fact_of, perspective_of
from assay.analysis.interchange import event_records, read_attempts, wire_rows
from assay.analysis.recorded import RecordedStream
from tests.assay.analysis.streams import MS, attempts, read, row

GOOD = {"attempt_id": "a", "t_ns": 0, "kind": "sent"}


def refused(*lines: str) -> str:
    with pytest.raises(BadRecord) as caught:
        read_attempts(wire_rows(lines, file="w.jsonl"), file="w.jsonl")
    return str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "sended"}, "w.jsonl:2 kind: 'sended' (allowed: scheduled, created, sent"),
        ({"t_ns": "soon"}, "w.jsonl:2 t_ns: 'soon' (allowed: a whole number of ns)"),
        ({"t_ns": 1.5}, "w.jsonl:2 t_ns: 1.5"),
        ({"attempt_id": None}, "w.jsonl:2 attempt_id: None"),
        ({"kind": "read"}, "w.jsonl:2: no payload"),
        ({"kind": "read", "text": "a", "b64": "YQ=="}, "w.jsonl:2: text and b64"),
        ({"kind": "read", "b64": "*"}, "w.jsonl:2 b64"),
        ({"kind": "headers", "status": "ok"}, "w.jsonl:2 status: 'ok'"),
        ({"task_id": 7}, "w.jsonl:2 task_id: 7"),
    ],
)
def test_a_bad_field_is_named_with_what_is_allowed(change: dict[str, Any], words: str) -> None:
    assert refused(json.dumps(GOOD), json.dumps({**GOOD, **change})).startswith(words)


def test_a_line_that_is_no_json_object_is_named() -> None:
    assert refused(json.dumps(GOOD), "{nope").startswith("w.jsonl:2: ")
    assert "allowed: one JSON object a line" in refused("[1]")


def test_a_second_clock_or_another_id_for_one_attempt_is_a_contradiction() -> None:
    first = {**GOOD, "clock_domain": "c", "task_id": "T"}

    assert "allowed: c" in refused(json.dumps(first), json.dumps({**first, "clock_domain": "d"}))
    assert "allowed: T" in refused(json.dumps(first), json.dumps({**first, "task_id": "U"}))


def test_ids_may_come_with_later_rows_and_rows_may_interleave() -> None:
    found = attempts(
        row("sent", 0, "a"),
        row("sent", 0, "b", task_id="T"),
        row("cancel", 5, "a", task_id="S", clock_domain="c"),
        row("cancel", 6, "b"),
    )

    assert [(a.attempt_id, a.ids.task_id, a.clock_domain) for a in found] == [
        ("a", "S", "c"),
        ("b", "T", "unspecified"),
    ]


def test_bytes_may_be_text_or_base64() -> None:
    text, encoded = attempts(
        row("sent", 0, "a"),
        read(1, "data: 推", "a"),
        row("sent", 0, "b"),
        row("read", 1, "b", b64="ZGF0YTog5o6o"),
    )

    assert text.reply.body_bytes == encoded.reply.body_bytes == 9


def test_an_empty_stream_is_refused() -> None:
    with pytest.raises(BadRecord, match="at least one row"):
        RecordedStream([], wire_file="w.jsonl")


@pytest.mark.req("3.09", "9.03")
def test_an_event_record_holds_time_clock_bound_ids_and_layer() -> None:
    (found,) = event_records(
        [
            json.dumps(
                {
                    "event": "engine.enqueued",
                    "t_ns": 5,
                    "clock_domain": "s",
                    "error_ns": 2,
                    "layer": "engine_loop",
                    "perspective": "server",
                    "attempt_id": "a",
                }
            )
        ],
        file="e.jsonl",
    )

    assert (found.t_ns, found.clock_domain, found.error_ns) == (5, "s", 2)
    assert (found.layer, found.attempt_id, found.evidence) == ("engine_loop", "a", "e.jsonl:1")
    assert found.fact is Fact.queued


def test_a_negative_bound_is_refused() -> None:
    line = json.dumps({"event": "engine.enqueued", "t_ns": 5, "error_ns": -1})

    with pytest.raises(BadRecord, match=r"e\.jsonl:1 error_ns: -1"):
        list(event_records([line], file="e.jsonl"))


def test_names_of_one_fact_and_sides_of_one_name() -> None:
    assert fact_of("server.done_event", "server") is Fact.completed
    assert fact_of("A1.server.state_at_2000", "server") is Fact.state
    assert fact_of("client.send", "client") is Fact.client_mark
    assert fact_of("engine.hiccup", "server") is None
    assert perspective_of("client.gate_1") == "client"
    assert perspective_of("queued") == "server"


def test_service_levels_have_units() -> None:
    found = service_levels("ttft=500ms, tpot=50ms,e2e=2s")

    assert (found.ttft_s, found.tpot_s, found.e2e_s) == (0.5, 0.05, 2.0)
    assert found.words() == "ttft <= 0.5 s, tpot <= 0.05 s, e2e <= 2 s"


@pytest.mark.parametrize(
    "text", ["ttft=500", "ttft", "itl=5ms", "ttft=5ms,ttft=6ms", "", "ttft=-5ms"]
)
def test_a_service_level_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadRecord, match="--slo"):
        service_levels(text)


def test_a_window_is_two_instants_in_order() -> None:
    found = window("1s:2500ms")

    assert (found.from_ns, found.to_ns) == (1000 * MS, 2500 * MS)
    assert window("5:9").to_ns == 9
    for text in ("5", "9:5", "a:b", "5:5"):
        with pytest.raises(BadRecord, match="--window"):
            window(text)
