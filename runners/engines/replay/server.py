"""Serve recorded replies over HTTP: the very bytes, at their recorded distance from the request's last byte.

Times are absolute deadlines of the event loop, so that one late write delays no other. A reply that the
recording lost half-way ends the connection where it was lost; one that the recording's client gave up on
stops at its last recorded byte and waits for this client to give up too.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import httptools

from runners.engines.replay.recording import Recording, Reply
from runners.engines.replay.versions import VERSION

HOST = "127.0.0.1"
_MAX_BODY = 2**26


class ReplayServer:
    """``speed`` 2 halves every recorded distance. One recording serves every connection."""

    def __init__(self, recording: Recording, *, speed: float) -> None:
        self.recording = recording
        self.speed = speed
        self.served = 0

    def control(self, path: str) -> Mapping[str, Any] | None:
        """What a control path answers; None for any other path."""
        if path == "/health":
            return {"status": "ok"}
        if path == "/version":
            return {"version": VERSION}
        if path == "/server_info":
            header = self.recording.header
            return {
                "engine": "replay",
                "version": VERSION,
                "speed": self.speed,
                "recorded": {k: header.get(k) for k in ("run_id", "execution_id", "level")},
                "replies": self.recording.total,
                "replies_left": self.recording.left,
                "served": self.served,
            }
        return None


class ReplayConnection(asyncio.Protocol):
    """One client connection; requests on it are answered one after the other."""

    def __init__(self, server: ReplayServer) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._path = b""
        self._body = bytearray()
        self._timers: list[asyncio.TimerHandle] = []
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in self._timers:
            timer.cancel()

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._answer(400, {"error": {"message": f"no HTTP request: {error}"}}, close=True)

    def on_url(self, url: bytes) -> None:
        self._path += url

    def on_body(self, body: bytes) -> None:
        self._body += body
        if len(self._body) > _MAX_BODY:
            self._answer(413, {"error": {"message": f"more than {_MAX_BODY} bytes"}}, close=True)

    def on_message_complete(self) -> None:
        started = self._loop.time()
        path, body = self._path.decode("latin-1").partition("?")[0], bytes(self._body)
        self._path, self._body = b"", bytearray()
        if (known := self._server.control(path)) is not None:
            self._answer(200, known)
            return
        try:
            document = json.loads(body)
        except ValueError as error:
            self._answer(400, {"error": {"message": f"the body is no JSON: {error}"}})
            return
        reply = self._server.recording.take(document) if isinstance(document, dict) else None
        if reply is None:
            self._answer(404, {"error": {"message": "this request is not in the recording"}})
            return
        self._server.served += 1
        self._play(reply, started)

    def _play(self, reply: Reply, started: float) -> None:
        def at(offset_ns: int) -> float:
            return started + max(0, offset_ns) / 1e9 / self._server.speed

        self._timers = [
            self._loop.call_at(at(offset), self._transport.write, data)
            for offset, data in reply.chunks
        ]
        if reply.cut_ns is not None:
            self._timers.append(self._loop.call_at(at(reply.cut_ns), self._transport.abort))

    def _answer(self, status: int, document: Mapping[str, Any], *, close: bool = False) -> None:
        body = json.dumps(document).encode()
        reason = {200: "OK", 400: "Bad Request", 404: "Not Found", 413: "Payload Too Large"}[status]
        head = (
            f"HTTP/1.1 {status} {reason}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n" + ("connection: close\r\n" if close else "")
        )
        self._transport.write(head.encode() + b"\r\n" + body)
        if close:
            self._transport.close()


async def serve(server: ReplayServer, *, port: int, stop: asyncio.Event) -> None:
    """Listen on loopback until ``stop`` is set."""
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(lambda: ReplayConnection(server), HOST, port)
    async with listening:
        await stop.wait()
