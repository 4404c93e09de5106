"""The mock that the load client is calibrated against: streams at absolute deadlines, each write stamped.

``python -m runners.load.stamped_server --events N --interval-s S --first-s S [--cores 0,1]`` prints
``{"port": N}`` and serves until its standard input ends. Every request gets ``events`` chat chunks. The
number in ``t`` is CLOCK_MONOTONIC just before the write, so that a late server is not taken for a late
client: the client's error is its own stamp minus that one.
"""

import argparse
import asyncio
import json
import os
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any

import httptools
import uvloop

_now = time.monotonic_ns
_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n"
    b"server: assay-calibration\r\n\r\n"
)
_END = b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
_STAGGER = 64  # neighbours start a fraction of the interval apart, as real streams do


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """``events`` chunks: the first after ``first_s``, then one every ``interval_s``, at absolute times."""

    events: int
    first_s: float
    interval_s: float


class StampedStream(asyncio.Protocol):
    """One connection; requests on it are served one after the other."""

    opened = 0

    def __init__(self, script: Script) -> None:
        self._script = script
        self._loop = asyncio.get_running_loop()
        self._transport: Any = None
        self._parser = httptools.HttpRequestParser(self)
        self._timer: asyncio.TimerHandle | None = None
        self._sent = 0
        self._due_s = self._accepted_ns = 0.0
        self._shift_s = (StampedStream.opened % _STAGGER) / _STAGGER * script.interval_s
        StampedStream.opened += 1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def connection_lost(self, _: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._transport = None

    def on_message_complete(self) -> None:
        self._accepted_ns, self._sent = _now(), 0
        self._due_s = self._loop.time() + self._script.first_s + self._shift_s
        self._transport.write(_HEAD)
        self._timer = self._loop.call_at(self._due_s, self._write_event)

    def _write_event(self) -> None:
        if self._transport is None:
            return
        event = (
            b'data: {"choices":[{"index":0,"delta":{"content":"x"}}],"accepted":%d,"t":%d}\n\n'
            % (self._accepted_ns, _now())
        )
        self._transport.write(b"%x\r\n%b\r\n" % (len(event), event))
        self._sent += 1
        if self._sent == self._script.events:
            self._transport.write(_END)
            return
        self._due_s += self._script.interval_s
        self._timer = self._loop.call_at(self._due_s, self._write_event)


async def serve(script: Script) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: StampedStream(script), host="127.0.0.1", port=0, backlog=4096
    )
    port = server.sockets[0].getsockname()[1]
    sys.stdout.write(json.dumps({"port": port}) + "\n")
    sys.stdout.flush()
    over = asyncio.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(over.set)

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    await over.wait()
    server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, required=True)
    parser.add_argument("--first-s", type=float, required=True)
    parser.add_argument("--interval-s", type=float, required=True)
    parser.add_argument("--cores", default="")
    arguments = parser.parse_args()
    if arguments.cores:
        os.sched_setaffinity(0, {int(n) for n in arguments.cores.split(",")})
    uvloop.run(
        serve(
            Script(
                events=arguments.events,
                first_s=arguments.first_s,
                interval_s=arguments.interval_s,
            )
        )
    )


if __name__ == "__main__":
    main()
