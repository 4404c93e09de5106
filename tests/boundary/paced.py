"""A small real server that paces its events and stamps its own writes, as an engine's front end does.

It runs on an event loop of its own thread, so that the client's loop never delays a write. Its record is in
the events of ``runners.protocol.events.EngineEvent``.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.runners.load.servers import (
    DONE,
    HEAD_CHUNKED,
    LAST_CHUNK,
    Exchange,
    ScriptedServer,
    chunk,
    event,
    serving,
)

HEAD_CLOSE = b"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

_now = time.monotonic_ns


@dataclass(slots=True)
class Recorded:
    """The server, and the events it wrote of itself."""

    server: ScriptedServer
    events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def port(self) -> int:
        return self.server.port

    def note(self, name: str, exchange: Exchange, **value: object) -> None:
        self.events.append({"event": name, "t_ns": _now(), "request": exchange.attempt_id, **value})

    def of(self, name: str) -> list[dict[str, Any]]:
        return [row for row in self.events if row["event"] == name]

    def wait_for(self, *names: str, count: int = 1, timeout_s: float = 5.0) -> list[dict[str, Any]]:
        """The events of any of these names, once there are ``count``."""
        deadline = time.monotonic() + timeout_s
        found: list[dict[str, Any]] = []
        while time.monotonic() < deadline:
            found = [row for row in list(self.events) if row["event"] in names]
            if len(found) >= count:
                return found
            time.sleep(0.01)
        raise AssertionError(f"{len(found)} of {count} {' or '.join(names)}: {self.events}")


Pace = Callable[[Recorded, Exchange], Awaitable[None]]


@contextlib.contextmanager
def paced_server(pace: Pace) -> Iterator[Recorded]:
    """Serve every request with ``pace`` until the block ends."""
    loop = asyncio.new_event_loop()
    started: list[Recorded] = []
    up, stop = threading.Event(), asyncio.Event()

    async def main() -> None:
        async def behave(exchange: Exchange) -> None:
            recorded.note("front_received", exchange)
            await pace(recorded, exchange)

        async with serving(behave) as server:
            recorded = Recorded(server)
            started.append(recorded)
            up.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(main()), daemon=True)
    thread.start()
    assert up.wait(5)
    try:
        yield started[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


async def stream(
    recorded: Recorded,
    exchange: Exchange,
    *,
    events: int,
    gap_s: float,
    size: int = 100,
    before_s: float = 0.0,
    pause_s: float = 0.0,
    pause_before: int = 0,
) -> None:
    """Events of ``size`` characters at a fixed pace; a client that goes is noted and stops it.

    ``before_s`` passes before the head; one event comes ``pause_s`` later than its pace. HTTP/1.1 is answered
    in chunks, HTTP/1.0 by a body that ends with the connection.
    """
    framed = exchange.head.endswith("HTTP/1.1")
    frame = chunk if framed else bytes
    gone = asyncio.ensure_future(exchange.closed_by_client())
    try:
        await _until(gone, before_s)
        await _write(recorded, exchange, HEAD_CHUNKED if framed else HEAD_CLOSE, "head")
        for number in range(events):
            await _until(gone, gap_s + pause_s * (number == pause_before))
            await _write(recorded, exchange, frame(event("x" * size)), "body")
        await _write(recorded, exchange, frame(DONE) + (LAST_CHUNK if framed else b""), "body")
    except ConnectionError:
        recorded.note("front_disconnected", exchange)
        recorded.note("cancelled", exchange, reason="client disconnected")
        exchange.close()
        return
    finally:
        gone.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await gone
    recorded.note("finished", exchange, reason="stop")
    recorded.note("front_finished", exchange)
    if not framed:
        exchange.close()


async def _until(gone: "asyncio.Future[bytes]", seconds: float) -> None:
    """Wait; raises ConnectionError as soon as the other side has closed."""
    done, _ = await asyncio.wait({gone}, timeout=seconds)
    if done:
        raise ConnectionError


async def _write(recorded: Recorded, exchange: Exchange, data: bytes, part: str) -> None:
    await exchange.send(data)
    recorded.note("front_written", exchange, bytes=len(data), part=part)
