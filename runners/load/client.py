"""The load client: a pool of connections, the client's waits, and one final state for every attempt.

``begin`` starts an attempt and returns; the attempt's owner is called once, when it is final. An attempt
ends as closed, timeout, cancel or error, or stays without an end (unfinalised) if the run stopped first.
"""

import asyncio
import errno
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from typing import Any

from runners.load import open_files
from runners.load.attempt import Attempt
from runners.load.connection import Connection
from runners.load.limits import Timeouts
from runners.load.recorder import Recorder
from runners.load.requests import Target
from runners.load.waits import Waits
from runners.protocol.errors import EnvironmentLacks, Finding
from runners.protocol.events import WireKind

_now = time.monotonic_ns

# The loop's timers count whole milliseconds and may ring a fraction early: a wait is never cut short.
_TIMER_STEP_S = 0.001
# Connecting failed for want of something on this machine: the client's limit, not the server's.
_OWN_FAULTS = frozenset({errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL, errno.ENOBUFS})

OnEnd = Callable[[Attempt], None]


class LoadClient:
    """Connections to one target. Not for use from more than one event loop."""

    def __init__(
        self,
        target: Target,
        *,
        timeouts: Timeouts,
        reuse: bool,
        recorder: Recorder,
        addresses: Sequence[str] = (),
    ) -> None:
        """``addresses`` are the target's, looked up before; without any, ``open`` looks the name up."""
        self.target = target
        self.reuse = reuse
        self.record_read = recorder.read
        self._record_attempt = recorder.attempt
        self.own_faults: list[str] = []
        self._waits = Waits(timeouts)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._addresses = list(addresses)
        self._tls: ssl.SSLContext | None = None
        self._owners: dict[Attempt, OnEnd] = {}
        self._idle: list[Connection] = []
        self._connections: set[Connection] = set()
        self._connected = 0
        self._opening: set[asyncio.Task[None]] = set()
        self._all_lost = asyncio.Event()

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where it connects to; empty before ``open`` unless they were given."""
        return tuple(self._addresses)

    @property
    def open_attempts(self) -> list[Attempt]:
        return list(self._owners)

    async def open(self) -> None:
        """Look up the name once, so that no name service is inside a measured time."""
        self._loop = asyncio.get_running_loop()
        open_files.raise_limit()
        if not self._addresses:
            self._addresses = await self._looked_up()
        if self.target.scheme == "https":
            self._tls = ssl.create_default_context()

    async def _looked_up(self) -> list[str]:
        assert self._loop is not None
        try:
            found = await self._loop.getaddrinfo(
                self.target.host, self.target.port, type=socket.SOCK_STREAM
            )
        except OSError as error:
            raise EnvironmentLacks(
                Finding(
                    field="base_url",
                    seen=f"{self.target.host}: {error}",
                    allowed="a host name that resolves",
                    remedy="Check the address and the name service.",
                )
            ) from error
        return list(dict.fromkeys(str(entry[4][0]) for entry in found))

    def begin(self, attempt: Attempt, on_end: OnEnd) -> None:
        """Send on an idle connection at once, or open one. ``on_end`` is called once, later."""
        attempt.created_ns = _now()
        self._owners[attempt] = on_end
        if self._waits.shortest_s is not None:
            self._later(attempt, self._waits.shortest_s, self._look, None)
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable():
                connection.send(attempt)
                return
        assert self._loop is not None, "open() comes first"
        attempt.connect_start_ns = _now()
        self._record_attempt(attempt.as_row())
        attempt.opening = self._loop.create_task(self._connect(attempt))
        self._opening.add(attempt.opening)
        attempt.opening.add_done_callback(self._opened)

    def cancel(self, attempt: Attempt, why: str) -> None:
        """The client gives up on purpose: the socket is closed, see ``Connection.drop``."""
        self._give_up(attempt, WireKind.cancel, why)

    def leave_open(self, attempt: Attempt) -> None:
        """The run stops with this attempt unfinalised: no end is claimed for it, its socket is closed."""
        self._give_up(attempt, None, None)

    async def close(self) -> None:
        """Leave open attempts unfinalised, close all sockets and see them closed."""
        for attempt in self.open_attempts:
            self.leave_open(attempt)
        await asyncio.gather(*self._opening, return_exceptions=True)
        for connection in list(self._connections):
            connection.drop()
        if self._connections:
            self._all_lost.clear()
            await self._all_lost.wait()

    # Called by connections

    def adopt(self, connection: Connection) -> int:
        self._connections.add(connection)
        self._connected += 1
        return self._connected

    def release(self, connection: Connection) -> None:
        self._idle.append(connection)

    def forget(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._all_lost.set()
        if connection in self._idle:
            self._idle.remove(connection)

    def was_sent(self, attempt: Attempt) -> None:
        self._record_attempt(attempt.as_row())
        after_ns = attempt.request.row["cancel_after_ns"]
        if after_ns is not None:
            self._later(attempt, after_ns / 1e9, self.cancel, f"after_s: {after_ns / 1e9:g}")

    def end(self, attempt: Attempt, kind: WireKind | None, detail: str | None, t_ns: int) -> None:
        """The one place where an attempt becomes final; whatever comes later changes nothing."""
        if attempt.is_final:
            return
        attempt.is_final = True
        for timer in attempt.timers:
            timer.cancel()
        attempt.timers.clear()
        attempt.connection = attempt.opening = None
        if kind is not None:
            attempt.end, attempt.detail, attempt.ended_ns = kind.value, detail, t_ns
        self._record_attempt(attempt.as_row())
        self._owners.pop(attempt)(attempt)

    # Own steps

    def _give_up(self, attempt: Attempt, kind: WireKind | None, why: str | None) -> None:
        if attempt.is_final:
            return
        t_ns = _now()
        if attempt.opening is not None:
            attempt.opening.cancel()
        if attempt.connection is not None:
            attempt.connection.drop()
        self.end(attempt, kind, why, t_ns)

    async def _connect(self, attempt: Attempt) -> None:
        assert self._loop is not None
        detail = "connect: no address"
        for address in self._addresses:
            try:
                await self._loop.create_connection(
                    lambda: Connection(self, attempt),
                    address,
                    self.target.port,
                    ssl=self._tls,
                    server_hostname=self.target.host if self._tls else None,
                )
            except ssl.SSLError as error:
                detail = f"tls: {error}"
            except OSError as error:
                detail = f"connect: {error}"
                if error.errno in _OWN_FAULTS:
                    self.own_faults.append(detail)
            else:
                return
        self.end(attempt, WireKind.error, detail, _now())

    def _opened(self, task: asyncio.Task[None]) -> None:
        self._opening.discard(task)
        if not task.cancelled():
            task.result()  # a fault of ours comes out here, in the loop's handler, and not never

    def _look(self, attempt: Attempt, _: None) -> None:
        """Give up if a wait has run out, else look again when the next could."""
        now_ns = _now()
        end_ns, wait = self._waits.next(attempt, now_ns)
        if end_ns <= now_ns:
            self._give_up(attempt, WireKind.timeout, wait.value)
        else:
            self._later(attempt, (end_ns - now_ns) / 1e9, self._look, None)

    def _later(
        self, attempt: Attempt, seconds: float, call: Callable[[Attempt, Any], None], argument: Any
    ) -> None:
        assert self._loop is not None, "open() comes first"
        timer = self._loop.call_later(seconds + _TIMER_STEP_S, call, attempt, argument)
        attempt.timers.append(timer)
