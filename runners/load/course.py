"""How far a drive has come and how it ends: what is open, what was created, when the drain begins and ends.

A stop rule of the load ends the sending early. After the last send the drive waits at most ``load.drain_s``;
what is open then stays unfinalised.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

from runners.load.attempt import Attempt
from runners.load.client import LoadClient
from runners.load.deadlines import Deadlines
from runners.load.followers import Followers
from runners.load.limits import StopReason
from runners.load.requests import PreparedRequest
from runners.load.stop_rules import Stop, StopRules

_now = time.monotonic_ns

OnDrain = Callable[[int], None]


class Course:
    """``on_end`` is called with every attempt that reached its end while the course was not left."""

    def __init__(
        self,
        *,
        offered: int,
        client: LoadClient,
        followers: Followers | None,
        rules: StopRules,
        load: Mapping[str, Any],
        worker: int,
        on_drain: OnDrain | None,
        on_end: Callable[[Attempt], None],
    ) -> None:
        self.offered = offered
        self.client = client
        self.followers = followers
        self.rules = rules
        self.deadlines = Deadlines()
        self.over: asyncio.Future[StopReason] = asyncio.get_running_loop().create_future()
        self.open: dict[Attempt, int] = {}  # the slot that waits for it; open loop: -1
        self.created = self.attempts = self.done = 0
        self.lost = self.regenerated = 0  # followers never to come; requests of no plan
        self.roots_are_sent = False
        self.origin_ns = 0
        self.drain_start_ns: int | None = None
        self.stopped: Stop | None = None
        self._drain_ns = round(load["drain_s"] * 1e9)
        self._worker = worker
        self._on_drain = on_drain
        self._on_end = on_end

    @property
    def is_ending(self) -> bool:
        return self.stopped is not None or self.over.done()

    def start(self, origin_ns: int) -> None:
        self.origin_ns = origin_ns
        if not self.offered:
            self.finish(StopReason.plan_done)
        if (limit_s := self.rules.max_duration_s) is not None:
            self.deadlines.at(origin_ns + round(limit_s * 1e9), self._time_is_up)

    # Requests

    def send(
        self,
        request: PreparedRequest,
        slot: int,
        *,
        number: int = 1,
        scheduled_ns: int | None = None,
        due_ns: int | None = None,
    ) -> None:
        """One more attempt: the first of a request, or its next try."""
        attempt = Attempt(
            request, number=number, scheduled_ns=scheduled_ns, due_ns=due_ns, worker=self._worker
        )
        self.attempts += 1
        self.open[attempt] = slot
        if self.followers is not None:
            attempt.kept = self.followers.kept_reads(request)
        self.client.begin(attempt, self._on_end)

    def send_root(
        self,
        leader: PreparedRequest,
        slot: int,
        *,
        scheduled_ns: int | None = None,
        due_ns: int | None,
    ) -> None:
        """A request that the load paces, and the other roots of its task at the same scheduled time."""
        companions = self.followers.together_with(leader) if self.followers is not None else ()
        for request in (leader, *companions):
            self.created += 1
            self.send(request, slot, scheduled_ns=scheduled_ns, due_ns=due_ns)
        self.stop(self.rules.created(self.created))

    def leave_the_rest_open(self) -> None:
        for attempt in list(self.open):
            self.client.leave_open(attempt)

    # The end of the sending

    def all_roots_are_sent(self) -> None:
        self.roots_are_sent = True
        self.drain_if_all_is_sent()

    def drain_if_all_is_sent(self) -> None:
        if self.roots_are_sent and (self.followers is None or not self.followers.unsent):
            self._begin_drain()

    def stop(self, stop: Stop | None) -> None:
        """If a rule holds: nothing more is created or tried again, and what is open is waited for."""
        if stop is None or self.is_ending:
            return
        self.stopped = stop
        self._begin_drain()
        self.finish_if_done()

    def _begin_drain(self) -> None:
        if self.drain_start_ns is not None or self.over.done():
            return
        self.drain_start_ns = _now()
        self.deadlines.at(self.drain_start_ns + self._drain_ns, self._drain_is_over)
        if self._on_drain is not None:
            self._on_drain(self.drain_start_ns)

    def _time_is_up(self) -> None:
        self.stop(self.rules.time_is_up())

    # The end of the drive

    def finish_if_done(self) -> None:
        if self.stopped is not None and self.done == self.created + self.regenerated:
            self.finish(self.stopped.reason)
        elif self.done + self.lost == self.offered + self.regenerated:
            self.finish(StopReason.plan_done)

    def finish(self, reason: StopReason) -> None:
        if not self.over.done():
            self.over.set_result(reason)

    def _drain_is_over(self) -> None:
        self.finish(self.stopped.reason if self.stopped else StopReason.drain_expired)
