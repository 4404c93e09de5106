"""One connection of the load client: stamp, append, and let httptools find where the response ends.

``data_received`` is the measuring hot path. It reads the clock first, appends the raw bytes, and parses no
SSE and no JSON; only an attempt that cancels after so many chunks has its body looked at, after the append.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Protocol

import httptools

from runners.load.attempt import Attempt
from runners.load.content_chunks import ContentChunkCounter
from runners.protocol.events import WireKind

_now = time.monotonic_ns


class Pool(Protocol):
    """What a connection needs of the client that owns it."""

    @property
    def record_read(self) -> Callable[[tuple[str, int, bytes]], None]: ...
    @property
    def reuse(self) -> bool: ...
    def adopt(self, connection: "Connection") -> int: ...
    def release(self, connection: "Connection") -> None: ...
    def forget(self, connection: "Connection") -> None: ...
    def was_sent(self, attempt: Attempt) -> None: ...
    def cancel(self, attempt: Attempt, why: str) -> None: ...
    def end(
        self, attempt: Attempt, kind: WireKind | None, detail: str | None, t_ns: int
    ) -> None: ...


class Connection(asyncio.Protocol):
    """Carries one attempt at a time; between two it is idle in the client's pool."""

    __slots__ = (
        "_attempt",
        "_attempt_id",
        "_client",
        "_counter",
        "_eof_ns",
        "_frames_itself",
        "_has_head",
        "_is_complete",
        "_is_used",
        "_keeps_alive",
        "_parser",
        "_record_read",
        "_trailing",
        "_transport",
        "number",
    )

    def __init__(self, client: Pool, attempt: Attempt) -> None:
        self._client = client
        self._record_read = client.record_read
        self._attempt: Attempt | None = attempt
        self._attempt_id = attempt.attempt_id
        self._transport: Any = None
        self._parser: Any = None
        self._counter: ContentChunkCounter | None = None
        self._is_used = False
        self._eof_ns: int | None = None
        self.number = -1
        self._start_message()

    def _start_message(self) -> None:
        self._has_head = self._frames_itself = False
        self._is_complete = self._keeps_alive = self._trailing = False

    # Life of the connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        connected_ns = _now()
        self._transport = transport
        # Zero: the transport tells when its own buffer has emptied, which dates drained_ns.
        self._transport.set_write_buffer_limits(high=0)
        attempt = self._attempt
        assert attempt is not None
        if attempt.is_final:  # given up while the connection came up
            self._attempt = None
            self._transport.abort()
            return
        attempt.connected_ns = connected_ns
        self.number = self._client.adopt(self)
        self.send(attempt)

    def send(self, attempt: Attempt) -> None:
        """Write the whole request. ``sent_ns`` is stamped right after the write returned.

        The transport hands the bytes to the kernel inside the write when its buffer is empty (uvloop and
        asyncio both do), so that at ``sent_ns`` the kernel holds the request, or as much as its socket
        buffer took; then ``drained_ns`` is later than ``sent_ns``. The kernel may send later still.
        """
        self._attempt = attempt
        self._attempt_id = attempt.attempt_id
        record = self._client.record_read
        self._record_read = record if attempt.kept is None else attempt.kept.through(record)
        self._start_message()
        after = attempt.request.row["cancel_after_chunks"]
        self._counter = None if after is None else ContentChunkCounter()
        self._parser = httptools.HttpResponseParser(
            self if self._counter is None else _CountedBody(self, self._counter)
        )
        attempt.connection = self
        attempt.connection_id = self.number
        attempt.connection_reused = self._is_used
        self._is_used = True
        self._transport.write(attempt.request.payload(attempt.attempt_id))
        attempt.sent_ns = _now()
        if not self._transport.get_write_buffer_size():
            attempt.drained_ns = attempt.sent_ns
        self._client.was_sent(attempt)

    def resume_writing(self) -> None:
        attempt = self._attempt
        if attempt is not None and attempt.drained_ns is None:
            attempt.drained_ns = _now()

    def is_usable(self) -> bool:
        return not self._transport.is_closing()

    def drop(self) -> None:
        """Close the socket, as a client does that gives up: FIN, or RST if bytes lie unread in the kernel.

        ``abort`` rather than ``close``: both close the descriptor the same way, but ``close`` would first
        finish sending a request that nobody waits for any more.
        """
        self._attempt = None
        self._parser = None
        if self._transport is not None:
            self._transport.abort()

    def eof_received(self) -> None:
        self._eof_ns = _now()

    def connection_lost(self, exc: Exception | None) -> None:
        lost_ns = self._eof_ns or _now()
        self._client.forget(self)
        attempt, self._attempt, self._parser = self._attempt, None, None
        if attempt is None:
            return
        if exc is None and self._has_head and not self._frames_itself:
            # Neither a length nor chunks: the end of the connection is how such a body ends.
            self._client.end(attempt, WireKind.closed, None, lost_ns)
        else:
            self._client.end(attempt, WireKind.error, _loss(attempt, exc), lost_ns)

    # The hot path

    def data_received(self, data: bytes) -> None:
        t_ns = _now()
        self._record_read((self._attempt_id, t_ns, data))
        attempt = self._attempt
        if attempt is None:  # bytes nobody asked for, on an idle connection
            self.drop()
            return
        attempt.last_read_ns = t_ns
        attempt.bytes_received += len(data)
        if attempt.first_byte_ns is None:
            attempt.first_byte_ns = t_ns
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            if not self._is_complete:
                self.drop()
                self._client.end(attempt, WireKind.error, f"parse: {error}", t_ns)
                return
            self._trailing = True
        if self._is_complete:
            self._complete(attempt, t_ns)
        elif self._counter is not None:
            self._cancel_if_enough(attempt, self._counter.count)

    def _complete(self, attempt: Attempt, t_ns: int) -> None:
        self._attempt = self._parser = self._counter = None
        if self._keeps_alive and not self._trailing and self._client.reuse:
            self._client.release(self)
        else:
            self._transport.close()
        self._client.end(attempt, WireKind.closed, None, t_ns)

    def _cancel_if_enough(self, attempt: Attempt, chunks: int) -> None:
        after = attempt.request.row["cancel_after_chunks"]
        if chunks >= after:
            self._client.cancel(attempt, f"after_chunks: {after}")

    # Called by httptools, a few times a response

    def on_message_begin(self) -> None:
        if self._is_complete:
            self._trailing = True  # the server sends another response to no request

    def on_header(self, name: bytes, value: bytes) -> None:
        lowered = name.lower()
        if lowered == b"content-length" or (
            lowered == b"transfer-encoding" and b"chunked" in value.lower()
        ):
            self._frames_itself = True
        elif lowered == b"retry-after" and self._attempt is not None:
            self._attempt.retry_after = value[:100].decode("latin-1")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200 and self._attempt is not None and not self._is_complete:
            self._has_head = True
            self._attempt.status = status

    def on_message_complete(self) -> None:
        # 1xx is an announcement, the response follows it.
        if self._has_head and not self._is_complete:
            self._is_complete = True
            self._keeps_alive = self._parser.should_keep_alive()


class _CountedBody:
    """Gives httptools a body callback too, which costs a call for each piece of the body."""

    def __init__(self, connection: Connection, counter: ContentChunkCounter) -> None:
        self.on_message_begin = connection.on_message_begin
        self.on_header = connection.on_header
        self.on_headers_complete = connection.on_headers_complete
        self.on_message_complete = connection.on_message_complete
        self.on_body = counter.feed


def _loss(attempt: Attempt, exc: Exception | None) -> str:
    words = str(exc) if exc else "closed by the peer"
    if attempt.first_byte_ns is not None:
        return (
            f"transport: {words} after {attempt.bytes_received} bytes, before the end of the body"
        )
    kind = "connection_lost_reused" if attempt.connection_reused else "connection_lost"
    return f"{kind}: {words} before a response byte"
