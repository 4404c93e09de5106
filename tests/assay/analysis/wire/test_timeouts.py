"""Whose time limit ran out: client, gateway, server, or a downstream of the server."""

import pytest

from assay.analysis.wire.attempt import Attempt
from runners.protocol.events import ClientState
from tests.fuzz.wire_invariants import read

# nginx 1.22 writes this page itself; the server behind it sent nothing in time.
NGINX_PAGE = b"<html>\r\n<head><title>504 Gateway Time-out</title></head></html>"


def response(status: int, body: bytes, **headers: str) -> Attempt:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return read(["\r\n".join(lines).encode() + b"\r\n\r\n" + body])


@pytest.mark.req("8.07")
@pytest.mark.parametrize(
    ("attempt", "state", "failure"),
    [
        (
            response(504, NGINX_PAGE, server="nginx/1.22.1"),
            ClientState.failed,
            f"timeout_gateway: {NGINX_PAGE.decode()}",
        ),
        (response(524, b""), ClientState.failed, "timeout_gateway: HTTP 524"),
        # the server's own words came through the gateway: it is the server that gave up
        (
            response(504, b'{"error":{"type":"timeout_error","message":"too slow"}}'),
            ClientState.failed,
            "timeout_server: too slow",
        ),
        (
            response(500, b'{"error":{"message":"Request timed out after 30 s","type":"x"}}'),
            ClientState.failed,
            "timeout_server: Request timed out after 30 s",
        ),
        (
            response(408, b'{"error":{"message":"m","code":"request_timeout"}}'),
            ClientState.failed,
            "timeout_server: m",
        ),
        # SGLang's limit on the wait in its queue: rejected before content, and whose limit it was
        (
            response(503, b'{"object":"error","message":"Request waiting timeout reached."}'),
            ClientState.rejected,
            "timeout_server: Request waiting timeout reached.",
        ),
        (
            response(502, b'{"error":{"message":"retrieval: StatusCode.DEADLINE_EXCEEDED"}}'),
            ClientState.failed,
            "timeout_downstream: retrieval: StatusCode.DEADLINE_EXCEEDED",
        ),
        # a gRPC gateway maps DEADLINE_EXCEEDED to 504 and keeps the status in a header
        (
            response(504, b"", grpc_status="4"),
            ClientState.failed,
            "timeout_downstream: HTTP 504",
        ),
        (
            response(400, b'{"error":{"message":"timeout must be positive"}}'),
            ClientState.failed,
            "http_400: timeout must be positive",
        ),
        (response(502, b"bad gateway"), ClientState.failed, "http_502: bad gateway"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_reply_shows_whose_limit_ran_out(
    attempt: Attempt, state: ClientState, failure: str
) -> None:
    assert (attempt.state, attempt.failure) == (state, failure)


@pytest.mark.req("8.07")
@pytest.mark.parametrize(
    ("event", "failure"),
    [
        (
            b'{"error":{"message":"generation exceeded 20 s","type":"timeout_error"}}',
            "timeout_server: generation exceeded 20 s",
        ),
        (
            b'{"error":{"message":"tool call failed","code":"DEADLINE_EXCEEDED"}}',
            "timeout_downstream: tool call failed",
        ),
        (b'{"error":{"message":"out of memory"}}', "server_error: out of memory"),
        (
            b'{"choices":[{"index":0,"delta":{},"finish_reason":"timeout"}]}',
            "timeout_server: finish_reason timeout",
        ),
        (
            b'{"text":"a","meta_info":{"completion_tokens":1,"finish_reason":'
            b'{"type":"abort","message":"Request running timeout reached."}}}',
            "timeout_server: finish_reason abort: Request running timeout reached.",
        ),
        (
            b'{"text":"a","meta_info":{"completion_tokens":1,"finish_reason":'
            b'{"type":"abort","message":"Abort from API"}}}',
            "server_error: finish_reason abort: Abort from API",
        ),
    ],
)
def test_a_limit_inside_an_http_200_is_named_too(event: bytes, failure: str) -> None:
    attempt = read([b"data: " + event + b"\n\n"])

    assert (attempt.state, attempt.failure) == (ClientState.failed, failure)


def test_a_relayed_grpc_status_after_a_200_is_a_failure() -> None:
    body = b'{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}'

    attempt = response(200, body, grpc_status="4", grpc_message="Deadline Exceeded")

    assert attempt.failure == "timeout_downstream: Deadline Exceeded"
    assert response(200, body, grpc_status="0").state is ClientState.completed


def test_who_answered_is_kept_as_evidence() -> None:
    attempt = response(504, b"", server="nginx/1.22.1", via="1.1 edge", x_other="no")

    assert attempt.headers == {"server": "nginx/1.22.1", "via": "1.1 edge"}
