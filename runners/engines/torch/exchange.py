"""One HTTP exchange at the front end, with a stamp for everything that crosses the socket.

``front_received`` is the arrival of the request's head, ``front_written`` each write once it was handed to
the socket, ``front_disconnected`` the instant the server saw the client go.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from runners.engines.torch.api_request import ApiProblem
from runners.engines.torch.events import EventLog, now_ns
from runners.protocol.events import EngineEvent

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

BODY_LIMIT_BYTES = 16 * 2**20
JSON = b"application/json"
EVENT_STREAM = b"text/event-stream; charset=utf-8"


class ClientGone(Exception):
    """The client closed the connection before its answer was complete."""


class Exchange:
    """Reads a request and writes its response. ``traced`` exchanges leave events under ``request``."""

    def __init__(
        self, receive: Receive, send: Send, *, log: EventLog, request: str | None, t_ns: int
    ) -> None:
        self._receive = receive
        self._send = send
        self._log = log
        self.request = request
        self.received_ns = t_ns
        self.written = 0  # writes so far, the head being the first
        self.status: int | None = None
        self.gone_ns: int | None = None

    async def body(self) -> bytes:
        """The whole request body. Raises ClientGone, or ApiProblem above the limit."""
        parts: list[bytes] = []
        size = 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self.gone_ns = now_ns()
                raise ClientGone
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > BODY_LIMIT_BYTES:
                raise ApiProblem(
                    f"the body has more than {BODY_LIMIT_BYTES} bytes", status=413, code="too_large"
                )
            if not message.get("more_body", False):
                return b"".join(parts)

    async def disconnect(self) -> None:
        """Return when the client has gone."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.gone_ns = now_ns()

    async def start(self, status: int, content_type: bytes, length: int | None = None) -> None:
        headers = [(b"content-type", content_type), (b"cache-control", b"no-store")]
        if length is not None:
            headers.append((b"content-length", str(length).encode()))
        if self.request is not None:
            headers.append((b"x-request-id", self.request.encode()))
        self.status = status
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        self._stamp("head", sum(len(name) + len(value) + 4 for name, value in headers))

    async def write(self, data: bytes, *, more: bool) -> None:
        if self.gone_ns is not None:
            raise ClientGone
        await self._send({"type": "http.response.body", "body": data, "more_body": more})
        if data:
            self._stamp("body", len(data))

    async def answer(self, status: int, document: dict[str, Any]) -> None:
        data = json.dumps(document, ensure_ascii=False).encode()
        await self.answer_bytes(status, JSON, data)

    async def answer_bytes(self, status: int, content_type: bytes, data: bytes) -> None:
        await self.start(status, content_type, len(data))
        await self.write(data, more=False)

    def note(self, event: EngineEvent, t_ns: int, **value: object) -> None:
        if self.request is not None:
            self._log.write(event, t_ns, self.request, **value)

    def _stamp(self, part: str, size: int) -> None:
        self.note(EngineEvent.front_written, now_ns(), bytes=size, chunk=self.written, part=part)
        self.written += 1


def watch(exchange: Exchange, inbox: asyncio.Queue[Any], mark: object) -> asyncio.Task[None]:
    """A task that puts ``mark`` into the inbox when the client goes, whatever else is awaited then."""

    async def run() -> None:
        await exchange.disconnect()
        inbox.put_nowait(mark)

    return asyncio.create_task(run())
