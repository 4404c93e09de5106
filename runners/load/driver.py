"""Drive one segment of a plan against a target and see every attempt to its end.

Open loop: each request has an absolute deadline. One that is late goes out at once and in order; none is
dropped or moved. Closed loop: a slot sends its next request when the previous one ended (and its think
time is over). After the last send the drive waits at most ``load.drain_s``; what is open then stays
unfinalised.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runners.load.attempt import Attempt
from runners.load.client import LoadClient, raise_open_file_limit
from runners.load.deadlines import Deadlines
from runners.load.lags import LagSeries
from runners.load.limits import RetryPolicy, StopReason, Timeouts
from runners.load.pace import ClosedLoop, OpenLoop, pace
from runners.load.process_state import garbage_collection_paused
from runners.load.recorder import Recorder
from runners.load.report import DriveReport, Tally, client_limits
from runners.load.requests import parse_target, prepare
from runners.load.watch import ProgressCallback, StopEvent, Watch
from runners.protocol.errors import EnvironmentLacks, Finding

_now = time.monotonic_ns

_SPARE_FILES = 64


def open_client(base_url: str, load: Mapping[str, Any], recorder: Recorder) -> LoadClient:
    """A client by the declared load. ``await client.open()`` before use; share it between segments."""
    return LoadClient(
        parse_target(base_url),
        timeouts=Timeouts.from_load(load),
        reuse=load["connection_reuse"],
        recorder=recorder,
    )


async def drive(
    plan_rows: Sequence[Mapping[str, Any]],
    prompts: Mapping[str, Mapping[str, Any]],
    *,
    base_url: str,
    model: str,
    load: Mapping[str, Any],
    recorder: Recorder,
    progress: ProgressCallback | None = None,
    stop_event: StopEvent | None = None,
    client: LoadClient | None = None,
    authorization_env: str | None = None,
    return_token_ids: bool = True,
    worker: int = 0,
    on_drain: Callable[[int], None] | None = None,
) -> DriveReport:
    """Send the rows of one segment (``plan_rows``; ``prompts`` maps prompt_ref to its row).

    ``load`` is ``spec["load"]``. ``progress(done, total, message)`` comes at most five times a second.
    ``client`` keeps its connections for the next segment; without one, a client is made and closed here.
    ``authorization_env`` is the name of an environment variable, whose value goes into requests only.
    ``on_drain(t_ns)`` is called when the drain begins.
    """
    own = client is None
    used = client or open_client(base_url, load, recorder)
    requests = prepare(
        plan_rows,
        prompts,
        target=used.target,
        model=model,
        reuse=load["connection_reuse"],
        authorization_env=authorization_env,
        return_token_ids=return_token_ids,
    )
    if own:
        await used.open()
    run = _Drive(
        pace(requests, load),
        segment=str(plan_rows[0]["segment"]) if plan_rows else "",
        offered=len(requests),
        client=used,
        load=load,
        recorder=recorder,
        progress=progress,
        stop_event=stop_event,
        worker=worker,
        on_drain=on_drain,
    )
    try:
        return await run.to_its_end()
    finally:
        if own:
            await used.close()


class _Drive:
    def __init__(
        self,
        plan: OpenLoop | ClosedLoop,
        *,
        segment: str,
        offered: int,
        client: LoadClient,
        load: Mapping[str, Any],
        recorder: Recorder,
        progress: ProgressCallback | None,
        stop_event: StopEvent | None,
        worker: int,
        on_drain: Callable[[int], None] | None,
    ) -> None:
        self._plan = plan
        self._segment = segment
        self._offered = offered
        self._client = client
        self._faults_before = len(client.own_faults)
        self._retry = RetryPolicy.from_load(load)
        self._drain_ns = round(load["drain_s"] * 1e9)
        self._max_send_lag_s = float(load["max_send_lag_s"])
        self._progress = progress
        self._worker = worker
        self._on_drain = on_drain
        self._loop = asyncio.get_running_loop()
        self._over: asyncio.Future[StopReason] = self._loop.create_future()
        self._open: dict[Attempt, int] = {}  # the slot that waits for it; open loop: -1
        self._created = self._attempts = self._done = self._next = 0
        self._origin_ns = 0
        self._drain_start_ns: int | None = None
        self._tally = Tally(
            LagSeries(
                "sent minus scheduled, less the handshake"
                if isinstance(plan, OpenLoop)
                else "sent minus (the slot's previous end plus think time), less the handshake"
            )
        )
        self._deadlines = Deadlines()
        self._watch = Watch(
            self._deadlines,
            recorder,
            stop_event=stop_event,
            stop=self._finish,
            show=self._tell_progress,
        )

    async def to_its_end(self) -> DriveReport:
        outer_handler = self._loop.get_exception_handler()
        self._loop.set_exception_handler(self._on_loop_error)
        try:
            with garbage_collection_paused():
                self._start()
                reason = await self._over
                self._leave_the_rest_open()
        finally:
            self._loop.set_exception_handler(outer_handler)
            self._finish(
                StopReason.stop_requested
            )  # no effect but on a drive cancelled from outside
            self._deadlines.close()
            self._leave_the_rest_open()
        self._tell_progress()
        return self._report(reason)

    # Sending

    def _start(self) -> None:
        self._check_open_files()
        self._origin_ns = _now()
        self._watch.start()
        if not self._offered:
            self._finish(StopReason.plan_done)
        if isinstance(self._plan, OpenLoop):
            self._send_due(self._plan)
            return
        for slot in self._plan.slots:
            self._take_next(self._plan, slot, None)

    def _send_due(self, plan: OpenLoop) -> None:
        """Everything whose time has come, in order; then wait for the next deadline."""
        while self._next < self._offered and not self._over.done():
            due_ns = self._origin_ns + plan.offsets_ns[self._next]
            if due_ns > _now():
                self._deadlines.at(due_ns, self._send_due, plan)
                return
            request = plan.requests[self._next]
            self._next += 1
            self._created += 1
            self._begin(
                Attempt(request, scheduled_ns=due_ns, due_ns=due_ns, worker=self._worker), -1
            )
        self._begin_drain()

    def _take_next(self, plan: ClosedLoop, slot: int, due_ns: int | None) -> None:
        if self._over.done():
            return
        request = plan.take(slot)
        if request is None:
            self._begin_drain()
            return
        self._created += 1
        self._begin(Attempt(request, due_ns=due_ns, worker=self._worker), slot)

    def _begin(self, attempt: Attempt, slot: int) -> None:
        self._attempts += 1
        self._open[attempt] = slot
        self._client.begin(attempt, self._ended)

    # Ending

    def _ended(self, attempt: Attempt) -> None:
        slot = self._open.pop(attempt)
        self._tally.add(attempt)
        if self._over.done():
            return
        ended_ns = attempt.ended_ns or _now()
        wait_s = self._retry.wait_s(
            request_id=attempt.request.request_id,
            tries=attempt.number,
            end=attempt.end,
            status=attempt.status,
        )
        if wait_s is not None:
            self._deadlines.at(ended_ns + round(wait_s * 1e9), self._try_again, attempt, slot)
            return
        self._done += 1
        if isinstance(self._plan, ClosedLoop):
            self._continue_slot(self._plan, slot, ended_ns)
        if self._done == self._offered:
            self._finish(StopReason.plan_done)

    def _try_again(self, failed: Attempt, slot: int) -> None:
        if not self._over.done():
            again = Attempt(failed.request, number=failed.number + 1, worker=self._worker)
            self._begin(again, slot)

    def _continue_slot(self, plan: ClosedLoop, slot: int, ended_ns: int) -> None:
        due_ns = ended_ns + plan.think_ns
        if plan.think_ns:
            self._deadlines.at(due_ns, self._take_next, plan, slot, due_ns)
        else:
            self._take_next(plan, slot, due_ns)

    def _begin_drain(self) -> None:
        if self._drain_start_ns is not None or self._over.done():
            return
        self._drain_start_ns = _now()
        self._deadlines.at(
            self._drain_start_ns + self._drain_ns, self._finish, StopReason.drain_expired
        )
        if self._on_drain is not None:
            self._on_drain(self._drain_start_ns)

    def _finish(self, reason: StopReason) -> None:
        if not self._over.done():
            self._over.set_result(reason)

    def _leave_the_rest_open(self) -> None:
        for attempt in list(self._open):
            self._client.leave_open(attempt)

    # Watching

    def _tell_progress(self) -> None:
        if self._progress is not None:
            message = (
                f"{self._segment}: {self._done} of {self._offered} done, {len(self._open)} open"
            )
            self._progress(self._done, self._offered, message)

    def _on_loop_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A fault inside a callback would leave the drive waiting for ever: end it with that fault.

        OSErrors are about sockets, perhaps of others in this loop; ours reach their attempt. Tasks are
        somebody else's: the client's own raise in a callback.
        """
        error = context.get("exception")
        is_fault = isinstance(error, Exception) and not isinstance(error, OSError)
        is_ours = "task" not in context and "future" not in context
        if error is not None and is_fault and is_ours and not self._over.done():
            self._over.set_exception(error)
        else:
            loop.default_exception_handler(context)

    def _check_open_files(self) -> None:
        limit = raise_open_file_limit()
        if isinstance(self._plan, ClosedLoop) and len(self._plan.slots) + _SPARE_FILES > limit:
            raise EnvironmentLacks(
                Finding(
                    field="load.concurrency",
                    seen=f"{len(self._plan.slots)} connections, {limit} open files allowed",
                    allowed=f"at most {limit - _SPARE_FILES} here",
                    remedy="ulimit -Hn: raise the hard limit of open files.",
                )
            )

    def _report(self, reason: StopReason) -> DriveReport:
        tally = self._tally
        limits = client_limits(
            tally.send_lag,
            max_send_lag_s=self._max_send_lag_s,
            own_faults=self._client.own_faults[self._faults_before :],
        )
        ends = {kind: n for kind, n in tally.ends.items() if kind is not None}
        return DriveReport(
            segment=self._segment,
            offered=self._offered,
            created=self._created,
            not_created=self._offered - self._created,
            attempts=self._attempts,
            ends=dict(sorted(ends.items())),
            unfinalised=tally.ends[None],
            stop_reason=reason,
            origin_ns=self._origin_ns,
            first_sent_ns=tally.first_sent_ns,
            last_sent_ns=tally.last_sent_ns,
            drain_start_ns=self._drain_start_ns,
            ended_ns=_now(),
            client_limited=bool(limits),
            client_limits=limits,
            loop_lag=self._watch.loop_lag.summary(),
            send_lag=tally.send_lag.summary(),
        )
