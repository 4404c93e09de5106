"""The final client state: the first terminal fact in time decides."""

import pytest

from assay.analysis.wire.outcome import ReplyFacts, outcome
from runners.protocol.events import ClientState
from tests.assay.analysis.streams import (
    DONE,
    delta,
    event,
    one,
    read,
    reply,
    row,
)

HELLO = delta("hello")
STOP = delta("", finish="stop")


def test_a_clean_end_with_a_finish_reason_is_completed() -> None:
    attempt = reply((10, HELLO), (20, STOP))

    assert (attempt.state, attempt.failure) == (ClientState.completed, None)


def test_a_clean_end_with_done_alone_is_completed() -> None:
    assert reply((10, HELLO), (20, DONE)).state is ClientState.completed


def test_a_clean_end_with_neither_is_truncated() -> None:
    attempt = reply((10, HELLO))

    assert attempt.state is ClientState.failed
    assert attempt.failure == "truncated: neither finish reason nor [DONE]"


def test_done_without_the_end_of_the_body_is_not_yet_completed() -> None:
    attempt = one(row("sent", 0), read(10, HELLO + DONE))

    assert attempt.state is ClientState.unfinalised


@pytest.mark.req("1.17")
def test_an_error_event_inside_http_200_is_a_failure_with_the_server_s_words() -> None:
    attempt = reply((10, HELLO), (20, event({"error": {"message": "out of memory"}}) + DONE))

    assert (attempt.state, attempt.failure) == (ClientState.failed, "server_error: out of memory")


def test_an_event_of_type_error_is_a_failure_whatever_its_data_are() -> None:
    attempt = reply((10, "event: error\ndata: worker died\n\n" + STOP + DONE))

    assert attempt.failure == "server_error: worker died"


def test_finish_abort_is_cancelled_only_if_we_cancelled() -> None:
    aborted = delta("", finish="abort") + DONE

    by_server = reply((10, HELLO), (20, aborted))
    by_us = one(
        row("sent", 0), read(10, HELLO), read(20, aborted), row("closed", 21), row("cancel", 22)
    )

    assert by_server.failure == "server_error: finish_reason abort"
    assert (by_us.state, by_us.failure) == (ClientState.cancelled, None)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.req("2.14")
def test_too_many_requests_before_content_is_rejected(status: int) -> None:
    attempt = one(
        row("sent", 0),
        row("headers", 5, status=status),
        read(6, '{"error": {"message": "queue full"}}'),
        row("closed", 6),
    )

    assert (attempt.state, attempt.failure) == (ClientState.rejected, f"http_{status}: queue full")


def test_another_status_is_a_failure_of_its_own_class() -> None:
    attempt = one(
        row("sent", 0), row("headers", 5, status=500), read(6, "<h1>oops</h1>"), row("closed", 6)
    )

    assert (attempt.state, attempt.failure) == (ClientState.failed, "http_500: <h1>oops</h1>")


@pytest.mark.req("8.07")
def test_a_gateway_that_gave_up_is_not_our_time_out() -> None:
    attempt = one(row("sent", 0), row("headers", 5, status=504), row("closed", 6))

    assert attempt.state is ClientState.failed
    assert str(attempt.failure).startswith("timeout_gateway")


@pytest.mark.req("8.07")
def test_our_own_wait_that_ran_out_is_a_client_time_out() -> None:
    attempt = one(row("sent", 0), read(10, HELLO), row("timeout", 50, detail="total"))

    assert (attempt.state, attempt.failure) == (ClientState.timeout, "timeout_client: total")


def test_the_first_terminal_fact_decides_and_later_bytes_are_kept_as_late() -> None:
    attempt = one(
        row("sent", 0),
        read(10, HELLO),
        row("timeout", 50),
        read(60, delta(" late") + STOP + DONE),
        row("closed", 61),
    )

    assert attempt.state is ClientState.timeout
    assert attempt.reply.text == "hello late"
    assert attempt.late_chunks == 1
    assert attempt.late_bytes > 0


def test_a_cancel_after_the_clean_end_changes_nothing() -> None:
    attempt = one(row("sent", 0), read(10, HELLO + STOP), row("closed", 10), row("cancel", 11))

    assert attempt.state is ClientState.completed


def test_an_error_event_before_our_cancel_is_the_server_s_failure() -> None:
    attempt = one(row("sent", 0), read(10, event({"error": "x"})), row("cancel", 20))

    assert attempt.failure == "server_error: x"


def test_a_cut_in_mid_body_is_a_transport_failure() -> None:
    attempt = one(row("sent", 0), read(10, HELLO), row("error", 20, detail="reset by peer"))

    assert (attempt.state, attempt.failure) == (ClientState.failed, "transport: reset by peer")


def test_a_connection_lost_before_the_first_byte_has_a_class_of_its_own() -> None:
    assert one(row("sent", 0), row("error", 20)).failure == "connection_lost"
    reused = outcome(ReplyFacts(sent_ns=0, cut_ns=20, connection_reused=True))
    assert reused.failure == "connection_lost_reused"


def test_an_attempt_that_was_never_sent_failed_to_connect() -> None:
    attempt = one(row("created", 0), row("error", 20, detail="refused"))

    assert attempt.failure == "connect: refused"


def test_the_class_that_the_client_named_stands() -> None:
    attempt = one(row("created", 0), row("error", 20, detail="tls: certificate expired"))

    assert attempt.failure == "tls: certificate expired"


def test_data_that_is_no_json_is_a_parse_failure() -> None:
    attempt = reply((10, HELLO), (20, "data: {broken\n\n" + STOP + DONE))

    assert attempt.state is ClientState.failed
    assert str(attempt.failure).startswith("parse: event 2: data is not JSON")


def test_a_keep_alive_of_another_type_or_without_data_is_no_failure() -> None:
    attempt = reply((10, ": ping\n\nevent: ping\ndata: 12:00\n\ndata:\n\n" + HELLO), (20, STOP))

    assert attempt.state is ClientState.completed


def test_without_a_terminal_fact_an_attempt_is_unfinalised() -> None:
    assert one(row("created", 0), row("sent", 1)).state is ClientState.unfinalised


def test_at_one_instant_the_end_of_the_body_goes_before_our_cancel() -> None:
    facts = ReplyFacts(body_end_ns=10, cancel_ns=10, finish_reason="stop")

    assert outcome(facts).state is ClientState.completed


class TestRawHttp:
    HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"

    def raw(self, t_ms: float, text: str) -> dict[str, object]:
        return read(t_ms, text, raw_http=True)

    def test_a_length_that_was_reached_is_the_end_of_the_body(self) -> None:
        body = HELLO + STOP
        attempt = one(
            row("sent", 0), self.raw(5, f"{self.HEAD}Content-Length: {len(body)}\r\n\r\n{body}")
        )

        assert attempt.state is ClientState.completed
        assert attempt.body_end_ns == attempt.first_byte_ns

    def test_a_close_before_the_length_was_reached_cuts_the_body(self) -> None:
        attempt = one(
            row("sent", 0),
            self.raw(5, f"{self.HEAD}Content-Length: 9999\r\n\r\n{HELLO}{STOP}{DONE}"),
            row("closed", 6),
        )

        assert attempt.failure == "transport: closed before the end of the body"

    def test_a_close_is_the_end_of_a_body_without_length(self) -> None:
        attempt = one(
            row("sent", 0), self.raw(5, f"{self.HEAD}\r\n{HELLO}{STOP}"), row("closed", 6)
        )

        assert attempt.state is ClientState.completed

    def test_broken_framing_is_a_parse_failure(self) -> None:
        attempt = one(
            row("sent", 0),
            self.raw(5, f"{self.HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n"),
            row("closed", 6),
        )

        assert str(attempt.failure).startswith("parse: HTTP framing")

    def test_a_body_in_an_encoding_that_is_not_read_says_so(self) -> None:
        attempt = one(
            row("sent", 0),
            self.raw(5, f"{self.HEAD}Content-Encoding: br\r\nContent-Length: 3\r\n\r\nabc"),
        )

        assert attempt.failure == "parse: content-encoding br is not read"
