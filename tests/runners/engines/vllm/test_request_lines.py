"""What the log says of single requests, against the recorded burst's ground truth."""

import pytest

from runners.engines.stated_facts import LogLine
from runners.engines.vllm.log_lines import read_lines
from runners.engines.vllm.request_lines import attempt_id, events_of
from tests.runners.engines.vllm.declared import FIXTURES

Said = list[tuple[str, str]]


def recorded(name: str) -> Said:
    lines = read_lines(FIXTURES / name)
    return [(e.value, request) for line in lines for e, request, _ in events_of(line)]


def said(message: str) -> list[tuple[str, str, object]]:
    line = LogLine(number=1, process="APIServer", wall_ns=0, message=message)
    return [(e.value, request, value.get("reason")) for e, request, value in events_of(line)]


def test_two_aborts_of_the_burst_are_two_cancelled_requests_and_the_rest_is_queued() -> None:
    found = recorded("requests_burst.log")

    cancelled = [request for event, request in found if event == "cancelled"]
    queued = [request for event, request in found if event == "queued"][1:]  # after the warm-up
    assert cancelled == ["r4_stream_aborted_queued", "r2_stream_aborted_decode"]
    assert queued == [
        "r1_stream_normal",
        "r2_stream_aborted_decode",
        "r3_stream_token_ids",
        "r4_stream_aborted_queued",
        "r5_nonstream",
    ]


def test_a_request_that_was_refused_before_the_engine_is_in_no_line() -> None:
    assert not [r for _, r in recorded("requests_burst.log") if r.startswith("r6")]


def test_an_abort_by_the_api_is_seen_although_the_stream_ended_politely() -> None:
    found = recorded("requests_extra.log")

    assert ("cancelled", "x6a_aborted_by_server") in found
    assert ("front_disconnected", "x6a_aborted_by_server") not in found
    assert ("front_disconnected", "x7_nonstream_disconnect") in found


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "Request chatcmpl-a1 failed (bad request): The engine is currently busy.",
            [("rejected", "a1", "The engine is currently busy")],
        ),
        (
            "Request chatcmpl-a1 failed (engine dead).",
            [("failed", "a1", "engine dead")],
        ),
        (
            "Request chatcmpl-a1 failed due to ValueError: no.",
            [("failed", "a1", "ValueError: no")],
        ),
        (
            "Generated response chatcmpl-a1 (streaming complete): output: '', "
            "finish_reason: streaming_complete",
            [("finished", "a1", None)],
        ),
        (
            "Generated response chatcmpl-a1: output: '', finish_reason: length",
            [("finished", "a1", "length")],
        ),
        ("Generated response chatcmpl-a1 (streaming delta): output: '', finish_reason: None", []),
        (
            "Aborted request(s) chatcmpl-a1-0123abcd,chatcmpl-a2-89abcdef.",
            [
                ("cancelled", "a1", "the engine aborted it"),
                ("cancelled", "a2", "the engine aborted it"),
            ],
        ),
        ("Request chatcmpl-a1 was aborted by somebody.", []),
    ],
)
def test_how_a_request_ended_by_the_form_of_its_line(
    message: str, expected: list[tuple[str, str, object]]
) -> None:
    assert said(message) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("chatcmpl-0193-7f-a", "0193-7f-a"),
        ("cmpl-0193-7f-a-0", "0193-7f-a"),
        ("cmpl-a1-0", "a1"),
        ("strange", "strange"),
    ],
)
def test_the_engines_name_of_a_request_holds_the_attempts_id(name: str, expected: str) -> None:
    assert attempt_id(name) == expected
