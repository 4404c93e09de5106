"""The front end's side of the socket: what arrives, and how its end is taken."""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from runners.engines.torch.calls import Output
from runners.engines.torch.channel import LoopChannel, encode
from runners.engines.torch.link import LoopLink, Lost
from runners.engines.torch.metrics import Metrics
from tests.runners.engines.torch.steps import call

STATS = {
    "running": 1,
    "waiting": 0,
    "kv_used": 1,
    "kv_total": 8,
    "prompt_tokens": 3,
    "tokens_out": 1,
    "preempted": 0,
    "duration_ns": 5,
}


def with_link(use: Callable[[LoopLink, socket.socket], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        mine, other = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=mine)
        try:
            return await use(LoopLink(reader, writer, Metrics()), other)
        finally:
            other.close()
            writer.close()

    return asyncio.run(run())


def test_tokens_go_to_the_request_they_belong_to() -> None:
    async def use(link: LoopLink, other: socket.socket) -> list[Output]:
        inbox = link.submit(call("a", [1], 2))
        outputs = [["b", 7, None, None], ["a", 9, None, "length"]]
        other.sendall(encode({"kind": "step", "outputs": outputs, "pooled": [], "stats": STATS}))
        other.shutdown(socket.SHUT_WR)
        await link.serve()
        return [inbox.get_nowait() for _ in range(inbox.qsize())]

    assert with_link(use) == [Output(request="a", token=9, text=None, finish="length")]


@pytest.mark.fault
def test_a_message_that_was_cut_off_is_the_end() -> None:
    async def use(link: LoopLink, other: socket.socket) -> int:
        inbox = link.submit(call("a", [1], 2))
        other.sendall(b'{"kind":"step","outp')
        other.shutdown(socket.SHUT_WR)
        await asyncio.wait_for(link.serve(), 5)
        return inbox.qsize()

    assert with_link(use) == 0


@pytest.mark.fault
def test_a_reset_is_the_end() -> None:
    async def run() -> None:
        server = socket.create_server(("127.0.0.1", 0))
        mine = socket.create_connection(server.getsockname())
        other, _ = server.accept()
        reader, writer = await asyncio.open_connection(sock=mine)
        link = LoopLink(reader, writer, Metrics())
        other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        other.close()  # with linger 0: a reset, not an end
        await asyncio.wait_for(link.serve(), 5)
        writer.close()
        server.close()

    asyncio.run(run())


def test_everybody_who_waits_hears_that_the_loop_is_gone() -> None:
    async def use(link: LoopLink, other: socket.socket) -> tuple[Any, Any]:
        inbox = link.submit(call("a", [1], 2))
        asking = asyncio.create_task(link.ask("profile", action="start"))
        await asyncio.sleep(0)
        link.lose("the model loop ended")
        return inbox.get_nowait(), await asking

    lost, reply = with_link(use)

    assert lost == Lost("the model loop ended")
    assert reply == {"problem": "the model loop ended"}


def test_the_loops_side_stamps_arrivals_and_reports_the_end() -> None:
    mine, other = socket.socketpair()
    channel = LoopChannel(other)
    mine.sendall(encode({"kind": "cancel", "request": "a"}))
    first = channel.receive(5)
    assert channel.receive(0) is None

    mine.close()

    second = channel.receive(5)
    assert first is not None
    assert second is not None
    assert first[1] == {"kind": "cancel", "request": "a"}
    assert second[1]["kind"] == "end"
    assert first[0] <= second[0]
    other.close()
