"""A small HTTP server on a real socket that answers as it is told: well, badly, late or not at all."""

import asyncio
import json
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

HEAD_CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)
LAST_CHUNK = b"0\r\n\r\n"
DONE = b"data: [DONE]\n\n"


@dataclass(slots=True, kw_only=True)
class Exchange:
    """One request as it arrived, and the socket to answer on."""

    number: int  # over all connections, from 0
    connection: int  # from 0
    head: str
    headers: dict[str, str]
    body: bytes
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @property
    def attempt_id(self) -> str:
        return self.headers["x-request-id"]

    @property
    def document(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.body)
        return parsed

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def close(self) -> None:
        self.writer.close()

    def reset(self) -> None:
        """Close with RST: linger on, zero seconds."""
        raw = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def closed_by_client(self) -> bytes:
        """Wait for the client to close; returns what it still sent. A reset counts as closing."""
        try:
            return await self.reader.read()
        except ConnectionError:
            return b""


Behaviour = Callable[[Exchange], Awaitable[None]]


@dataclass(slots=True)
class ScriptedServer:
    port: int
    exchanges: list[Exchange] = field(default_factory=list)
    connections: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@asynccontextmanager
async def serving(
    behaviour: Behaviour, *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[ScriptedServer]:
    """Serve every request with ``behaviour``; connections stay open unless the behaviour closes them."""
    state = ScriptedServer(port=0)
    tasks: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        connection = state.connections
        state.connections += 1
        try:
            while (request := await _read_request(reader)) is not None:
                head, headers, body = request
                exchange = Exchange(
                    number=len(state.exchanges),
                    connection=connection,
                    head=head,
                    headers=headers,
                    body=body,
                    reader=reader,
                    writer=writer,
                )
                state.exchanges.append(exchange)
                await behaviour(exchange)
                if writer.is_closing():
                    break
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            tasks.discard(task)

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    state.port = server.sockets[0].getsockname()[1]
    try:
        yield state
    finally:
        server.close()
        if tasks:  # the client has closed its sockets: let the handlers see that
            await asyncio.wait(tasks, timeout=1.0)
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


async def _read_request(reader: asyncio.StreamReader) -> tuple[str, dict[str, str], bytes] | None:
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    head, *lines = raw.decode("latin-1").rstrip("\r\n").split("\r\n")
    headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return head, headers, body


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def event(text: str) -> bytes:
    document = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
    return b"data: " + json.dumps(document).encode() + b"\n\n"


def role_event() -> bytes:
    return b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'


def answer(texts: Sequence[str] = ("a", "b", "c")) -> bytes:
    """A whole, well-formed streamed response."""
    events = [role_event(), *(event(t) for t in texts), DONE]
    return HEAD_CHUNKED + b"".join(chunk(e) for e in events) + LAST_CHUNK


def plain(status: str, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def answers_well(exchange: Exchange) -> None:
    await exchange.send(answer())


async def says_nothing(exchange: Exchange) -> None:
    await exchange.closed_by_client()
    exchange.close()
