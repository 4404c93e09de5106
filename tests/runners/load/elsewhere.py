"""A scripted server in a thread of its own, for clients that are processes; and servers of a set capacity."""

import asyncio
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.runners.load.servers import (
    Behaviour,
    Exchange,
    ScriptedServer,
    answer,
    plain,
    serving,
)

MODELS = b'{"object":"list","data":[{"id":"small","object":"model"}]}'
PAGES: Mapping[str, tuple[str, bytes]] = {
    "/v1/models": ("200 OK", MODELS),
    "/health": ("200 OK", b""),
    "/version": ("200 OK", b'{"version":"1.2.3"}'),
}


@contextmanager
def served(behaviour: Behaviour, *, tls: ssl.SSLContext | None = None) -> Iterator[ScriptedServer]:
    """Serve in a thread until the block ends."""
    up, over = threading.Event(), threading.Event()
    found: list[ScriptedServer] = []

    async def live() -> None:
        async with serving(behaviour, tls=tls) as server:
            found.append(server)
            up.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(live()), daemon=True)
    thread.start()
    assert up.wait(10)
    try:
        yield found[0]
    finally:
        over.set()
        thread.join(10)


def an_endpoint(
    generate: Behaviour, pages: Mapping[str, tuple[str, bytes]] = PAGES, *headers: str
) -> Behaviour:
    """Answers GET with ``pages`` and everything else by ``generate``."""

    async def behave(exchange: Exchange) -> None:
        method, path, _ = exchange.head.split(" ", 2)
        if method == "GET":
            status, body = pages.get(path, ("404 Not Found", b""))
            await exchange.send(plain(status, body, *headers))
        else:
            await generate(exchange)

    return behave


def of_capacity(slots: int, service_s: float) -> Behaviour:
    """``slots`` requests at a time, each for ``service_s`` before its first byte; the rest queue in order."""
    free: list[asyncio.Semaphore] = []

    async def generate(exchange: Exchange) -> None:
        if not free:
            free.append(asyncio.Semaphore(slots))
        async with free[0]:
            await asyncio.sleep(service_s)
            await exchange.send(answer())

    return generate
