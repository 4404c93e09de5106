"""Which final client state an attempt reached, and why it failed.

The first terminal fact in time decides. ``completed`` needs three things: the body ended cleanly, a finish
reason or ``[DONE]`` was seen, and no error event came. An HTTP 200 that ends politely with finish reason
``abort`` is no success. Whose time limit ran out is read by ``timeouts``. At equal times the reply's own
facts go before what the client did.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.analysis.wire.timeouts import timeout_of_error, timeout_of_finish
from runners.protocol.events import ClientState

_REJECTED = (429, 503)
# Failure classes that a recorder may itself name at the head of an error's detail.
_NAMED_CLASSES = (
    "connect",
    "tls",
    "connection_lost",
    "connection_lost_reused",
    "transport",
    "parse",
)
_ABORTS = ("abort", "aborted", "cancelled", "canceled")
_ERRORS = ("error",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyFacts:
    """What is known of one attempt's end. Times are ns of one clock domain; None means it did not happen."""

    sent_ns: int | None = None
    status: int | None = None
    status_ns: int | None = None
    first_content_ns: int | None = None
    any_response_bytes: bool = False
    error_event_ns: int | None = None
    error_words: str | None = None  # of an error that the server wrote as such
    error_type: str | None = None
    error_body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body_end_ns: int | None = None
    finish_reason: str | None = None
    finish_words: str | None = None
    done_marker: bool = False
    problem: str | None = None  # what could not be parsed
    broken_ns: int | None = None  # the HTTP framing broke here
    timeout_ns: int | None = None
    timeout_detail: str | None = None
    cancel_ns: int | None = None
    cut_ns: int | None = None  # the transport failed before the end of the body
    cut_detail: str | None = None
    connection_reused: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The final client state, the failure (class, then the server's or transport's words) and its time."""

    state: ClientState
    failure: str | None
    decided_ns: int | None


def outcome(facts: ReplyFacts) -> Outcome:
    """Decide by the earliest terminal fact; without any, the attempt is ``unfinalised``."""
    candidates = [
        (facts.status_ns, 0, _by_status),
        (facts.error_event_ns, 1, _by_error_event),
        (facts.broken_ns, 2, _by_broken_framing),
        (facts.body_end_ns, 3, _by_body_end),
        (facts.cancel_ns, 4, _by_cancel),
        (facts.timeout_ns, 5, _by_timeout),
        (facts.cut_ns, 6, _by_cut),
    ]
    for t_ns, _, decide in sorted(
        (c for c in candidates if c[0] is not None), key=lambda c: (c[0], c[1])
    ):
        if (verdict := decide(facts)) is not None:
            state, failure = verdict
            return Outcome(state=state, failure=failure, decided_ns=t_ns)
    return Outcome(state=ClientState.unfinalised, failure=None, decided_ns=None)


_Verdict = tuple[ClientState, str | None]


def _failure(kind: str, words: str | None) -> str:
    return f"{kind}: {words}" if words else kind


def _by_status(facts: ReplyFacts) -> _Verdict | None:
    status = facts.status
    if status is None or 200 <= status < 300:
        return None
    words = facts.error_body
    timeout = _timeout(facts)
    kind = timeout or f"http_{status}"
    words = words or (f"HTTP {status}" if timeout else "")
    is_rejected = status in _REJECTED and facts.first_content_ns is None
    return (ClientState.rejected if is_rejected else ClientState.failed), _failure(kind, words)


def _by_error_event(facts: ReplyFacts) -> _Verdict:
    return ClientState.failed, _failure(_timeout(facts) or "server_error", facts.error_words)


def _timeout(facts: ReplyFacts) -> str | None:
    found = timeout_of_error(
        status=facts.status,
        headers=facts.headers,
        error_type=facts.error_type,
        error_words=facts.error_words,
    )
    return None if found is None else found.value


def _by_broken_framing(facts: ReplyFacts) -> _Verdict:
    return ClientState.failed, _failure("parse", facts.problem)


def _by_body_end(facts: ReplyFacts) -> _Verdict:
    reason = facts.finish_reason
    timeout = timeout_of_finish(reason, facts.finish_words)
    if timeout is not None:
        return ClientState.failed, _failure(timeout.value, _finish(facts))
    if reason in _ABORTS and facts.cancel_ns is not None:
        return ClientState.cancelled, None
    if reason in _ABORTS or reason in _ERRORS:
        return ClientState.failed, _failure("server_error", _finish(facts))
    if facts.headers.get("grpc-status", "0").strip() != "0":
        return ClientState.failed, _by_grpc_status(facts)
    if facts.problem is not None:
        return ClientState.failed, _failure("parse", facts.problem)
    if facts.finish_reason is None and not facts.done_marker:
        return ClientState.failed, _failure("truncated", "neither finish reason nor [DONE]")
    return ClientState.completed, None


def _finish(facts: ReplyFacts) -> str:
    words = f": {facts.finish_words}" if facts.finish_words else ""
    return f"finish_reason {facts.finish_reason}{words}"


def _by_grpc_status(facts: ReplyFacts) -> str:
    """HTTP 200 whose gRPC status, in the head or after the body, is an error."""
    words = facts.headers.get("grpc-message") or f"grpc-status {facts.headers['grpc-status']}"
    return _failure(_timeout(facts) or "server_error", words)


def _by_cancel(facts: ReplyFacts) -> _Verdict:
    return ClientState.cancelled, None


def _by_timeout(facts: ReplyFacts) -> _Verdict:
    return ClientState.timeout, _failure("timeout_client", facts.timeout_detail)


def _by_cut(facts: ReplyFacts) -> _Verdict:
    detail = facts.cut_detail or ""
    named, _, words = detail.partition(":")
    if named.strip() in _NAMED_CLASSES:
        return ClientState.failed, _failure(named.strip(), words.strip())
    if facts.any_response_bytes:
        return ClientState.failed, _failure("transport", detail)
    if facts.sent_ns is None:
        return ClientState.failed, _failure("connect", detail)
    kind = "connection_lost_reused" if facts.connection_reused else "connection_lost"
    return ClientState.failed, _failure(kind, detail)
