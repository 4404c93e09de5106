"""Drive one segment of a plan against a target and see every attempt to its end."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from runners.load import open_files
from runners.load.attempt import Attempt
from runners.load.client import LoadClient
from runners.load.course import Course, OnDrain
from runners.load.ending import Ending
from runners.load.followers import Followers, has_structure
from runners.load.lags import LagSeries
from runners.load.limits import StopReason, Timeouts
from runners.load.pace import ClosedLoop, OpenLoop, pace
from runners.load.packing_turns import PackingTurns
from runners.load.process_state import garbage_collection_paused
from runners.load.recorder import Recorder
from runners.load.report import DriveReport, Tally, client_limits
from runners.load.requests import parse_target, prepare
from runners.load.retry import Retries, RetryPolicy
from runners.load.sending import sending
from runners.load.stop_rules import StopRules
from runners.load.watch import ProgressCallback, StopEvent, Watch
from runners.protocol.events import Segment

_now = time.monotonic_ns

_WHAT_LAGS: Mapping[type[OpenLoop | ClosedLoop], str] = {
    OpenLoop: "sent minus scheduled, less the handshake",
    ClosedLoop: "sent minus (the slot's previous end plus think time), less the handshake",
}


def open_client(
    base_url: str, load: Mapping[str, Any], recorder: Recorder, *, addresses: Sequence[str] = ()
) -> LoadClient:
    """A client by the declared load. ``await client.open()`` before use; share it between segments.

    ``addresses`` pins where it connects to; without any, the host is looked up once.
    """
    return LoadClient(
        parse_target(base_url),
        timeouts=Timeouts.from_load(load),
        reuse=load["connection_reuse"],
        recorder=recorder,
        addresses=addresses,
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
    on_drain: OnDrain | None = None,
    begin: Callable[[], Awaitable[int]] | None = None,
) -> DriveReport:
    """Send the rows of one segment (``plan_rows``; ``prompts`` maps prompt_ref to its row).

    ``load`` is ``spec["load"]``. ``progress(done, total, message)`` comes at most five times a second.
    ``client`` keeps its connections for the next segment; without one, a client is made and closed here.
    ``authorization_env`` is the name of an environment variable, whose value goes into requests only.
    ``on_drain(t_ns)`` is called when the drain begins. ``begin`` is awaited when all is built; it returns at
    the origin that several drives share, and gives it.
    """
    own = client is None
    used = client or open_client(base_url, load, recorder)
    make = partial(
        prepare,
        prompts=prompts,
        target=used.target,
        model=model,
        reuse=load["connection_reuse"],
        authorization_env=authorization_env,
        return_token_ids=return_token_ids,
    )
    requests = make(plan_rows)
    followers = None
    if any(has_structure(row) for row in plan_rows):
        followers = Followers(requests, prompts, make=make, record=recorder.sent_inputs())
    if own:
        await used.open()
    run = _Drive(
        pace(requests if followers is None else followers.roots, load),
        followers=followers,
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
        return await run.to_its_end(begin)
    finally:
        if own:
            await used.close()


class _Drive:
    def __init__(
        self,
        plan: OpenLoop | ClosedLoop,
        *,
        followers: Followers | None,
        segment: str,
        offered: int,
        client: LoadClient,
        load: Mapping[str, Any],
        recorder: Recorder,
        progress: ProgressCallback | None,
        stop_event: StopEvent | None,
        worker: int,
        on_drain: OnDrain | None,
    ) -> None:
        retries = Retries(RetryPolicy.from_load(load))
        self._plan = plan
        self._segment = segment
        self._faults_before = len(client.own_faults)
        self._max_send_lag_s = float(load["max_send_lag_s"])
        self._progress = progress
        self._loop = asyncio.get_running_loop()
        self._tally = Tally(LagSeries(_WHAT_LAGS[type(plan)]))
        self._course = Course(
            offered=offered,
            client=client,
            followers=followers,
            rules=StopRules(load.get("stop") if segment == Segment.load else None),
            load=load,
            worker=worker,
            on_drain=on_drain,
            on_end=self._ended,
        )
        self._sending = sending(plan, self._course)
        self._ending = Ending(self._course, self._sending, tally=self._tally, retries=retries)
        self._packing = PackingTurns(recorder.pack_if_worth)
        self._watch = Watch(
            self._course.deadlines,
            recorder,
            stop_event=stop_event,
            stop=self._course.finish,
            show=self._tell_progress,
            look=self._sending.look,
        )

    async def to_its_end(self, begin: Callable[[], Awaitable[int]] | None = None) -> DriveReport:
        course = self._course
        outer_handler = self._loop.get_exception_handler()
        self._loop.set_exception_handler(self._on_loop_error)
        try:
            with garbage_collection_paused():
                self._start(_now() if begin is None else await begin())
                reason = await course.over
                course.leave_the_rest_open()
        finally:
            self._loop.set_exception_handler(outer_handler)
            # no effect but on a drive cancelled from outside
            course.finish(StopReason.stop_requested)
            course.deadlines.close()
            self._packing.close()
            course.leave_the_rest_open()
        self._tell_progress()
        return self._report(reason)

    def _start(self, origin_ns: int) -> None:
        if isinstance(self._plan, ClosedLoop):
            open_files.check_room_for(len(self._plan.slots))
        self._watch.start()
        self._packing.start()
        self._course.start(origin_ns)
        self._sending.start()

    def _ended(self, attempt: Attempt) -> None:
        self._ending.ended(attempt)

    def _tell_progress(self) -> None:
        if self._progress is not None:
            done, offered = self._course.done, self._course.offered
            message = f"{self._segment}: {done} of {offered} done, {len(self._course.open)} open"
            self._progress(done, offered, message)

    def _on_loop_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A fault inside a callback would leave the drive waiting for ever: end it with that fault.

        OSErrors are about sockets, perhaps of others in this loop; ours reach their attempt. Tasks are
        somebody else's: the client's own raise in a callback.
        """
        error = context.get("exception")
        is_fault = isinstance(error, Exception) and not isinstance(error, OSError)
        is_ours = "task" not in context and "future" not in context
        if error is not None and is_fault and is_ours and not self._course.over.done():
            self._course.over.set_exception(error)
        else:
            loop.default_exception_handler(context)

    def _report(self, reason: StopReason) -> DriveReport:
        course, tally = self._course, self._tally
        followers = course.followers
        limits = client_limits(
            tally.send_lag,
            max_send_lag_s=self._max_send_lag_s,
            own_faults=course.client.own_faults[self._faults_before :],
        )
        ends = {kind: n for kind, n in tally.ends.items() if kind is not None}
        sending_ended_ns = course.drain_start_ns or _now()
        return DriveReport(
            segment=self._segment,
            offered=course.offered,
            created=course.created,
            not_created=course.offered - course.created,
            attempts=course.attempts,
            ends=dict(sorted(ends.items())),
            unfinalised=tally.ends[None],
            stop_reason=reason,
            stop_seen=course.stopped.seen if course.stopped else None,
            stages=self._plan.stage_spans(origin_ns=course.origin_ns, end_ns=sending_ended_ns),
            origin_ns=course.origin_ns,
            first_sent_ns=tally.first_sent_ns,
            last_sent_ns=tally.last_sent_ns,
            drain_start_ns=course.drain_start_ns,
            ended_ns=_now(),
            client_limited=bool(limits),
            client_limits=limits,
            loop_lag=self._watch.loop_lag.summary(),
            send_lag=tally.send_lag.summary(),
            regenerations=course.regenerated,
            not_created_why=dict(followers.not_created_why) if followers else {},
            assembly=followers.assembly.summary() if followers else None,
        )
