"""Whose limit ran out, by what the reply itself shows: gateway, server, or a downstream of the server.

Evidence, strongest first. A gRPC status 4 (header or trailer ``grpc-status``) or the words
DEADLINE_EXCEEDED in an error say that a call which the server itself made ran out of time: *downstream*. An
error that the server wrote as such (a JSON error body, an error event, a finish reason) and that names a
time-out is the *server's* own limit, whatever relayed it. A 504 or 524 without such an error is the
*gateway's*: it writes a page of its own. Only server errors are looked at: a 400 that speaks of a time-out
parameter is none.
"""

import re
from collections.abc import Mapping
from enum import StrEnum

GATEWAY_STATUSES = (504, 524)
_REQUEST_TIMEOUT = 408
_GRPC_DEADLINE_EXCEEDED = "4"
_DEADLINE = re.compile(r"deadline[ _-]?exceeded", re.IGNORECASE)
_NAMED = re.compile(r"time[ _-]?out|timed[ _-]?out", re.IGNORECASE)
_FINISH_WORDS = ("timeout", "timed_out", "time_limit", "max_time")


class TimeoutClass(StrEnum):
    gateway = "timeout_gateway"
    server = "timeout_server"
    downstream = "timeout_downstream"


def timeout_of_error(
    *,
    status: int | None,
    headers: Mapping[str, str],
    error_type: str | None,
    error_words: str | None,
) -> TimeoutClass | None:
    """The class of a failed reply. ``error_words`` are None unless the server wrote an error as such."""
    said = " ".join(word for word in (error_type, error_words) if word)
    if headers.get("grpc-status", "").strip() == _GRPC_DEADLINE_EXCEEDED or _DEADLINE.search(said):
        return TimeoutClass.downstream
    is_server_error = status is None or status < 300 or status >= 500 or status == _REQUEST_TIMEOUT
    if is_server_error and _NAMED.search(said):
        return TimeoutClass.server
    return TimeoutClass.gateway if status in GATEWAY_STATUSES else None


def timeout_of_finish(reason: str | None, words: str | None) -> TimeoutClass | None:
    """The class of a reply that ended by itself: its finish reason is a time limit, or an abort names one."""
    if reason is None:
        return None
    if _DEADLINE.search(words or ""):
        return TimeoutClass.downstream
    is_named = reason.lower() in _FINISH_WORDS or _NAMED.search(words or "")
    return TimeoutClass.server if is_named else None
