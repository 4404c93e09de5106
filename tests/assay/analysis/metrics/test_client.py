"""Client metrics, worked by hand."""

import pytest

from assay.analysis.absence import Absent
from assay.analysis.metrics import client
from assay.analysis.wire.attempt import Attempt
from assay.analysis.wire.unscheduled import Unscheduled
from tests.assay.analysis.streams import DONE, delta, one, read, reply, row, usage


def why(value: object) -> str:
    assert isinstance(value, Absent)
    return value.reason


def three_tokens() -> Attempt:
    return reply(
        (100, delta("a", ids=[1])),
        (120, delta("b", ids=[2])),
        (180, delta("c", ids=[3], finish="stop")),
        (190, usage(3) + DONE),
    )


def test_tpot_to_the_last_token_and_to_completion_are_two_rules() -> None:
    attempt = three_tokens()

    # (180 - 100) / 2 = 40 ms; (190 - 100) / 2 = 45 ms.
    assert client.tpot_last_token(attempt, None) == pytest.approx(0.040)
    assert client.tpot_done(attempt, None) == pytest.approx(0.045)


@pytest.mark.req("14.03")
def test_tpot_is_undefined_for_one_token() -> None:
    attempt = reply((10, delta("a", ids=[1], finish="stop")))

    assert why(client.tpot_last_token(attempt, None)).startswith("undefined at 1 output token")


def test_tpot_of_content_that_came_in_one_event_has_no_interval() -> None:
    attempt = reply((10, delta("abc", ids=[1, 2, 3], finish="stop")))

    assert why(client.tpot_last_token(attempt, None)).startswith("all content came in one event")


@pytest.mark.req("6.07", "6.08", "14.05")
@pytest.mark.forbids
def test_chunk_gaps_are_token_gaps_only_if_each_chunk_is_one_token() -> None:
    single = three_tokens()
    double = reply((10, delta("ab", ids=[1, 2])), (30, delta("c", ids=[3], finish="stop")))
    uncounted = reply((10, delta("a")), (30, delta("b", finish="stop")))

    assert client.token_gaps(single, None) == client.chunk_gaps(single, None)
    assert client.chunk_gaps(single, None) == pytest.approx([0.020, 0.060])
    assert why(client.token_gaps(double, None)) == "content event 1 carries 2 tokens, not one"
    assert "unknown" in why(client.token_gaps(uncounted, None))


def test_latency_from_the_schedule_stands_beside_latency_from_the_send() -> None:
    attempt = one(
        row("scheduled", 0),
        row("sent", 30),
        read(100, delta("a", finish="stop") + DONE),
        row("closed", 100),
    )

    assert client.e2e(attempt, None) == pytest.approx(0.070)
    assert client.latency_from_scheduled(attempt, None) == pytest.approx(0.100)
    assert client.ttft_from_scheduled(attempt, None) == pytest.approx(0.100)
    assert client.send_lag(attempt, None) == pytest.approx(0.030)


@pytest.mark.parametrize("reason", Unscheduled)
def test_without_a_schedule_there_is_nothing_to_be_late_against(reason: Unscheduled) -> None:
    attempt = three_tokens()
    attempt.unscheduled = reason

    for rule in (client.send_lag, client.latency_from_scheduled, client.ttft_from_scheduled):
        assert why(rule(attempt, None)) == reason.value


@pytest.mark.req("2.13")
def test_the_handshake_is_shown_only_where_there_was_one_and_is_no_send_lag() -> None:
    attempt = one(row("scheduled", 0), row("sent", 30))
    attempt.connect_start_ns, attempt.connected_ns = 5_000_000, 25_000_000
    attempt.connection_reused = False

    assert client.handshake(attempt, None) == pytest.approx(0.020)
    assert client.send_lag(attempt, None) == pytest.approx(0.010)
    attempt.connection_reused = True
    assert why(client.handshake(attempt, None)).startswith("the connection was reused")


def test_no_latency_is_taken_from_what_came_after_the_client_left() -> None:
    attempt = one(row("sent", 0), row("timeout", 50), read(60, delta("late")))

    assert why(client.ttft_first_content(attempt, None)).endswith("after the client had given up")


def test_without_a_send_there_is_no_latency_from_it() -> None:
    assert why(client.ttft_first_byte(one(row("created", 0)), None)) == "no send time was recorded"
