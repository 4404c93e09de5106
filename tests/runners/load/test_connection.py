"""The hot path without sockets: any split of the same bytes over reads means the same."""

import itertools
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from runners.load.attempt import Attempt
from runners.load.connection import Connection
from runners.load.content_chunks import ContentChunkCounter
from runners.load.requests import PreparedRequest
from runners.protocol.events import WireKind
from tests.runners.load.drives import plan_row
from tests.runners.load.servers import DONE, HEAD_CHUNKED, answer, chunk, event, plain, role_event


class FakeTransport:
    def __init__(self) -> None:
        self.written = b""
        self.is_closed = False

    def write(self, data: bytes) -> None:
        self.written += data

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int) -> None:
        assert high == 0

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    abort = close


class FakePool:
    reuse = True

    def __init__(self) -> None:
        self.reads: list[tuple[str, int, bytes]] = []
        self.record_read: Callable[[tuple[str, int, bytes]], None] = self.reads.append
        self.ends: list[tuple[str | None, str | None]] = []
        self.idle: list[Connection] = []

    def adopt(self, connection: Connection) -> int:
        return 1

    def release(self, connection: Connection) -> None:
        self.idle.append(connection)

    def forget(self, connection: Connection) -> None: ...

    def was_sent(self, attempt: Attempt) -> None: ...

    def had_first_byte(self, attempt: Attempt) -> None: ...

    def cancel(self, attempt: Attempt, why: str) -> None:
        attempt.connection.drop()
        self.end(attempt, WireKind.cancel, why, 0)

    def end(self, attempt: Attempt, kind: WireKind | None, detail: str | None, t_ns: int) -> None:
        if not attempt.is_final:
            attempt.is_final = True
            self.ends.append((kind.value if kind else None, detail))


def receive(pieces: list[bytes], *, then_closed: bool = False, **row: Any) -> tuple[Any, ...]:
    """Feed the pieces to a fresh connection; returns (ends, status, bytes kept, reused)."""
    request = PreparedRequest(row=plan_row(**row), head=b"", body=())
    pool, transport, attempt = FakePool(), FakeTransport(), Attempt(request)
    connection = Connection(pool, attempt)
    connection.connection_made(transport)  # type: ignore[arg-type]  # the part of it that is used
    for piece in pieces:
        if transport.is_closed:
            break
        connection.data_received(piece)
    if then_closed:
        connection.connection_lost(None)
    kept = b"".join(data for _, _, data in pool.reads)
    return pool.ends, attempt.status, kept, bool(pool.idle)


RESPONSES = {
    "chunked": answer(["a", "béé", "c" * 300]),
    "with a length": plain("503 Service Unavailable", b'{"error":1}', "Retry-After: 1"),
    "announced": b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + answer(["a"]),
    "broken": HEAD_CHUNKED + chunk(event("a")) + b"oops\r\n",
    "to the end": b"HTTP/1.0 200 OK\r\n\r\ndata: x\n\n",
    "cut": HEAD_CHUNKED + chunk(event("a")),
}

cuts = st.lists(st.integers(min_value=1, max_value=900), max_size=12)


def split(data: bytes, places: list[int]) -> list[bytes]:
    bounds = [0, *sorted({p for p in places if p < len(data)}), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(bounds)]


@given(name=st.sampled_from(sorted(RESPONSES)), places=cuts)
def test_any_split_of_a_response_gives_the_same_end_status_and_reuse(
    name: str, places: list[int]
) -> None:
    data = RESPONSES[name]
    pieces = split(data, places)
    whole = receive([data], then_closed=True)

    ends, status, kept, reused = receive(pieces, then_closed=True)

    assert len(ends) == 1
    # A parse error names its reason, which may depend on where the reads were cut; its class does not.
    assert [(kind, (detail or "").split(":")[0]) for kind, detail in ends] == [
        (kind, (detail or "").split(":")[0]) for kind, detail in whole[0]
    ]
    assert (status, reused) == (whole[1], whole[3])
    assert data.startswith(kept)
    if name != "broken":
        assert kept == data


@given(places=cuts)
def test_any_split_of_a_response_byte_by_byte_counts_the_same_chunks(places: list[int]) -> None:
    body = role_event() + b"".join(event(t) for t in ("a", "ü", "c")) + DONE
    counter = ContentChunkCounter()

    for piece in split(body, places):
        counter.feed(piece)

    assert counter.count == 3


@given(
    texts=st.lists(st.text(max_size=5), max_size=8),
    ending=st.sampled_from(["\n", "\r\n", "\r"]),
    places=cuts,
)
def test_line_ends_and_cuts_do_not_change_the_count(
    texts: list[str], ending: str, places: list[int]
) -> None:
    body = b"".join(event(t) for t in texts).replace(b"\n", ending.encode())
    counter = ContentChunkCounter()

    for piece in split(body, places):
        counter.feed(piece)

    assert counter.count == sum(bool(t) for t in texts)


def test_other_deltas_are_content_and_empty_ones_are_not() -> None:
    counter = ContentChunkCounter()
    content = [
        b'{"choices":[{"delta":{"reasoning_content":"hm"}}]}',
        b'{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}',
        b'{"choices":[{"delta":{"refusal":"no"}}]}',
        b'{"choices":[{"text":"completions say text"}]}',
    ]
    none = [
        b'{"choices":[{"delta":{"role":"assistant"}}]}',
        b'{"choices":[],"usage":{"completion_tokens":3}}',
        b'{"error":{"message":"out of memory"}}',
        b"[DONE]",
        b"not json",
        b"7",
    ]

    for data in content + none:
        counter.feed(b"data:" + data + b"\n\n: a comment\n\n")

    assert counter.count == len(content)


def test_bytes_on_an_idle_connection_are_kept_under_the_last_attempt() -> None:
    ends, _, kept, _ = receive([answer(["a"]), b"late"])

    assert ends == [("closed", None)]
    assert kept == answer(["a"]) + b"late"


def test_a_cancel_keeps_the_whole_read_that_reached_the_count() -> None:
    data = HEAD_CHUNKED + b"".join(chunk(event(t)) for t in "abcdef")

    ends, _, kept, _ = receive([data, b"never read"], cancel_after_chunks=2)

    assert ends == [("cancel", "after_chunks: 2")]
    assert kept == data
