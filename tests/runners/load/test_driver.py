"""Pace, drain, stop and report of a drive, on real sockets."""

import asyncio
import gc
import random
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import uvloop

from runners.load.driver import drive, open_client
from runners.load.limits import StopReason
from runners.load.recorder import Recorder
from runners.protocol.errors import Refused
from runners.protocol.segment_writer import SegmentWriter
from tests.runners.load.drives import (
    PROMPTS,
    drive_against,
    load_of,
    plan_row,
    read_back,
)
from tests.runners.load.servers import (
    HEAD_CHUNKED,
    Exchange,
    answer,
    answers_well,
    chunk,
    event,
    plain,
    says_nothing,
    serving,
)

MS = 1_000_000


def open_rows(offsets_ns: list[int]) -> list[dict[str, Any]]:
    return [plan_row(n + 1, "load", offset_ns=offset) for n, offset in enumerate(offsets_ns)]


def answers_after(seconds: float) -> Any:
    async def behave(exchange: Exchange) -> None:
        await asyncio.sleep(seconds)
        await exchange.send(answer())

    return behave


# Open loop


def test_a_constant_rate_keeps_absolute_deadlines(tmp_path: Path) -> None:
    rows = open_rows([n * 10 * MS for n in range(30)])

    outcome = drive_against(answers_after(0.03), tmp_path, rows=rows, load=load_of(kind="constant"))

    attempts = sorted(outcome.attempts.values(), key=lambda a: a["sequence"])
    scheduled = [a["scheduled_ns"] for a in attempts]
    assert {b - a for a, b in pairwise(scheduled)} == {10 * MS}  # truly constant
    assert scheduled[0] == outcome.report.origin_ns
    assert all(a["created_ns"] >= a["scheduled_ns"] for a in attempts)  # never early
    assert outcome.report.stop_reason is StopReason.plan_done
    assert outcome.report.ends == {"closed": 30}
    assert outcome.report.send_lag["n"] == 30


def test_the_same_seeded_arrivals_are_scheduled_alike_in_two_drives(tmp_path: Path) -> None:
    draw = random.Random(5)
    offsets = [0]
    for _ in range(15):
        offsets.append(offsets[-1] + round(draw.expovariate(200) * 1e9))

    plans = []
    for name in ("one", "two"):
        outcome = drive_against(
            answers_well, tmp_path / name, rows=open_rows(offsets), load=load_of(kind="poisson")
        )
        origin = outcome.report.origin_ns
        plans.append({k: a["scheduled_ns"] - origin for k, a in outcome.attempts.items()})

    assert plans[0] == plans[1]
    assert list(plans[0].values()) == offsets


def test_late_sends_go_out_at_once_in_order_and_none_is_dropped_or_moved(tmp_path: Path) -> None:
    offsets = [n * 10 * MS for n in range(50)]
    blocked: list[int] = []

    def blocks_the_loop_once(done: int, total: int, message: str) -> None:
        if not blocked:
            blocked.append(time.monotonic_ns())
            time.sleep(0.15)  # the client cannot send: 15 deadlines pass
            blocked.append(time.monotonic_ns())

    outcome = drive_against(
        answers_well,
        tmp_path,
        rows=open_rows(offsets),
        load=load_of(kind="constant", max_send_lag_s=0.05),
        progress=blocks_the_loop_once,
    )

    report = outcome.report
    attempts = sorted(outcome.attempts.values(), key=lambda a: a["created_ns"])
    assert [a["sequence"] for a in attempts] == list(range(1, 51))
    assert [a["scheduled_ns"] - report.origin_ns for a in attempts] == offsets
    start, end = blocked
    held_up = [a for a in attempts if start < a["scheduled_ns"] < end]
    assert len(held_up) >= 14
    assert held_up[0]["created_ns"] >= end
    # 14 gaps of 10 ms were planned; they left together instead, once the loop was back.
    assert held_up[-1]["created_ns"] - held_up[0]["created_ns"] < 70 * MS
    assert report.client_limited
    assert "load.max_send_lag_s = 0.05" in report.client_limits[0]
    assert (report.send_lag["max_ns"] or 0) > 50 * MS
    assert (report.loop_lag["max_ns"] or 0) > 50 * MS
    assert report.client_error["client_limited"] is True


def test_an_undisturbed_drive_is_not_client_limited(tmp_path: Path) -> None:
    outcome = drive_against(
        answers_well, tmp_path, rows=open_rows([0, 5 * MS]), load=load_of(kind="constant")
    )

    assert outcome.report.client_limited is False
    assert outcome.report.client_limits == ()


def test_unsorted_offsets_are_sent_in_order_of_time(tmp_path: Path) -> None:
    outcome = drive_against(
        answers_well,
        tmp_path,
        rows=open_rows([40 * MS, 0, 20 * MS]),
        load=load_of(kind="poisson"),
    )

    sent = sorted(outcome.attempts.values(), key=lambda a: a["sent_ns"])
    assert [a["sequence"] for a in sent] == [2, 3, 1]


# Closed loop


def closed_rows(slots: int, each: int) -> list[dict[str, Any]]:
    return [plan_row(n + 1, "load", slot=n % slots) for n in range(slots * each)]


def intervals(attempts: dict[str, Any]) -> list[tuple[int, int, int]]:
    rows = sorted(attempts.values(), key=lambda a: a["created_ns"])
    return [(a["sequence"], a["created_ns"], a["ended_ns"]) for a in rows]


def test_a_closed_loop_holds_its_concurrency_and_sends_when_the_previous_ended(
    tmp_path: Path,
) -> None:
    outcome = drive_against(
        answers_after(0.02), tmp_path, rows=closed_rows(3, 4), load=load_of(concurrency=3)
    )

    assert len(outcome.attempts) == 12
    assert all(a["scheduled_ns"] is None for a in outcome.attempts.values())
    for slot in range(3):
        own = [i for i in intervals(outcome.attempts) if (i[0] - 1) % 3 == slot]
        assert [i[0] for i in own] == [slot + 1, slot + 4, slot + 7, slot + 10]
        assert all(b[1] >= a[2] for a, b in pairwise(own))
    assert outcome.server.connections == 3
    assert outcome.report.send_lag["n"] == 9  # the first of each slot follows nothing


def test_rows_without_a_slot_go_to_whoever_is_free(tmp_path: Path) -> None:
    rows = [plan_row(n + 1, "load") for n in range(10)]

    outcome = drive_against(answers_after(0.01), tmp_path, rows=rows, load=load_of(concurrency=4))

    spans = intervals(outcome.attempts)
    busiest = max(sum(a <= t < b for _, a, b in spans) for _, t, _ in spans)
    assert busiest == 4


def test_think_time_passes_between_an_end_and_the_next_send(tmp_path: Path) -> None:
    outcome = drive_against(
        answers_well, tmp_path, rows=closed_rows(1, 3), load=load_of(think_time_s=0.05)
    )

    spans = intervals(outcome.attempts)
    assert all(b[1] - a[2] >= 50 * MS for a, b in pairwise(spans))
    assert outcome.report.send_lag["n"] == 2


@pytest.mark.parametrize("segment", ["cases", "warmup", "profile"])
def test_other_segments_go_one_at_a_time_whatever_the_load_declares(
    segment: str, tmp_path: Path
) -> None:
    outcome = drive_against(
        answers_after(0.01),
        tmp_path,
        rows=[plan_row(n + 1, segment) for n in range(4)],
        load=load_of(kind="constant", concurrency=None, rate_per_s=5.0, think_time_s=30.0),
    )

    spans = intervals(outcome.attempts)
    assert [s[0] for s in spans] == [1, 2, 3, 4]
    assert all(b[1] >= a[2] for a, b in pairwise(spans))
    assert spans[-1][2] - spans[0][1] < 25e9  # think time belongs to the load segment


def test_a_plan_unlike_the_declared_load_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"plan\.offset_ns"):
        drive_against(
            answers_well, tmp_path / "a", rows=open_rows([0]), load=load_of(kind="closed")
        )
    with pytest.raises(Refused, match=r"plan\.offset_ns"):
        drive_against(
            answers_well,
            tmp_path / "b",
            rows=[*open_rows([0]), plan_row(2, "load")],
            load=load_of(kind="poisson"),
        )


def test_an_empty_segment_is_done_at_once(tmp_path: Path) -> None:
    outcome = drive_against(answers_well, tmp_path, rows=[])

    assert (outcome.report.offered, outcome.report.stop_reason) == (0, StopReason.plan_done)
    assert outcome.report.send_lag["reason"] == "nothing was observed"
    assert outcome.report.send_lag["p99_ns"] is None


# Retries


def fails_times(failures: int, reply: bytes) -> Any:
    async def behave(exchange: Exchange) -> None:
        await exchange.send(reply if exchange.number < failures else answer())

    return behave


@pytest.mark.req("8.16", "8.20", "8.26")
def test_retries_keep_every_attempt_and_wait_their_back_off(tmp_path: Path) -> None:
    outcome = drive_against(
        fails_times(2, plain("503 Service Unavailable", b"")),
        tmp_path,
        load=load_of(retry={"count": 3, "backoff_s": 0.03}),
    )

    a1, a2, a3 = outcome.attempts.values()
    assert [a["status"] for a in (a1, a2, a3)] == [503, 503, 200]
    assert [a["retry_of"] for a in (a1, a2, a3)] == [None, "cases-0001.A1", "cases-0001.A2"]
    assert a2["created_ns"] - a1["ended_ns"] >= 30 * MS
    assert a3["created_ns"] - a2["ended_ns"] >= 60 * MS
    assert (outcome.report.created, outcome.report.attempts) == (1, 3)


@pytest.mark.req("8.16")
def test_a_retry_after_is_waited_for_where_that_is_declared(tmp_path: Path) -> None:
    busy = plain("429 Too Many Requests", b"", "Retry-After: 1")
    waits = {}
    for rule in ("ignore", "honour"):
        outcome = drive_against(
            fails_times(1, busy),
            tmp_path / rule,
            load=load_of(retry={"count": 1, "backoff_s": 0.01, "retry_after": rule}),
        )
        first, second = outcome.attempts.values()
        waits[rule] = second["created_ns"] - first["ended_ns"]

    assert 10 * MS <= waits["ignore"] < 900 * MS
    assert waits["honour"] >= 1000 * MS


@pytest.mark.req("8.16")
def test_a_budget_of_retries_is_that_of_the_whole_segment(tmp_path: Path) -> None:
    async def always_busy(exchange: Exchange) -> None:
        await exchange.send(plain("503 Service Unavailable", b""))

    outcome = drive_against(
        always_busy,
        tmp_path,
        rows=closed_rows(1, 10),
        load=load_of(retry={"count": 5, "give_up": "budget", "budget_ratio": 0.2}),
    )

    # at most a fifth of the first tries so far: one retry from the fifth request on, a second from the tenth
    assert (outcome.report.created, outcome.report.attempts) == (10, 12)


@pytest.mark.req("8.16")
def test_a_request_is_given_up_after_its_declared_count(tmp_path: Path) -> None:
    outcome = drive_against(
        fails_times(99, plain("500 Internal Server Error", b"")),
        tmp_path,
        load=load_of(retry={"count": 2}),
    )

    assert len(outcome.attempts) == 3
    assert outcome.report.stop_reason is StopReason.plan_done


def test_a_retry_has_no_schedule_of_its_own(tmp_path: Path) -> None:
    outcome = drive_against(
        fails_times(1, plain("503 Service Unavailable", b"")),
        tmp_path,
        rows=open_rows([0]),
        load=load_of(kind="constant", retry={"count": 1}),
    )

    first, second = outcome.attempts.values()
    assert first["scheduled_ns"] == outcome.report.origin_ns
    assert second["scheduled_ns"] is None
    assert outcome.report.send_lag["n"] == 1


# Drain and stop


@pytest.mark.req("8.05")
def test_what_is_open_when_the_drain_is_over_stays_unfinalised(tmp_path: Path) -> None:
    drained: list[int] = []

    outcome = drive_against(
        says_nothing,
        tmp_path,
        rows=open_rows([0, 1 * MS]),
        load=load_of(kind="constant", drain_s=0.15),
        on_drain=drained.append,
    )

    report = outcome.report
    assert report.stop_reason is StopReason.drain_expired
    assert (report.unfinalised, report.ends) == (2, {})
    for attempt in outcome.attempts.values():
        assert (attempt["end"], attempt["ended_ns"]) == (None, None)
        assert attempt["sent_ns"] is not None
    (drain_start_ns,) = drained
    assert report.drain_start_ns == drain_start_ns
    assert report.ended_ns - drain_start_ns >= 150 * MS


def test_a_closed_loop_drains_from_when_a_slot_has_nothing_more_to_send(tmp_path: Path) -> None:
    async def first_quick_second_never(exchange: Exchange) -> None:
        if exchange.number == 0:
            await asyncio.sleep(0.05)
            await exchange.send(answer())
        else:
            await says_nothing(exchange)

    outcome = drive_against(
        first_quick_second_never,
        tmp_path,
        rows=closed_rows(2, 1),
        load=load_of(concurrency=2, drain_s=0.1),
    )

    report = outcome.report
    assert (report.ends, report.unfinalised) == ({"closed": 1}, 1)
    assert report.drain_start_ns is not None
    assert report.drain_start_ns - report.origin_ns >= 50 * MS


def test_a_long_case_is_not_cut_by_the_drain(tmp_path: Path) -> None:
    outcome = drive_against(answers_after(0.3), tmp_path, load=load_of(drain_s=0.05))

    assert outcome.only["end"] == "closed"


@pytest.mark.req("8.05")
def test_a_stop_leaves_open_attempts_unfinalised_and_sends_nothing_more(tmp_path: Path) -> None:
    stop = threading.Event()

    async def stops_at_the_second(exchange: Exchange) -> None:
        if exchange.number == 1:
            stop.set()
        await says_nothing(exchange)

    outcome = drive_against(
        stops_at_the_second,
        tmp_path,
        rows=open_rows([0, 10 * MS, 60_000 * MS]),
        load=load_of(kind="constant"),
        stop_event=stop,
    )

    report = outcome.report
    assert report.stop_reason is StopReason.stop_requested
    assert (report.offered, report.created, report.not_created) == (3, 2, 1)
    assert report.unfinalised == 2
    assert set(outcome.attempts) == {"load-0001.A1", "load-0002.A1"}
    assert report.ended_ns - report.origin_ns < 30e9


def test_a_stop_before_the_start_sends_nothing(tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()

    outcome = drive_against(answers_well, tmp_path, rows=closed_rows(2, 2), stop_event=stop)

    assert (outcome.report.created, outcome.attempts) == (0, {})


def test_a_loop_that_is_shut_down_leaves_each_attempt_unfinalised_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(says_nothing) as server:
            task = asyncio.create_task(
                drive(
                    closed_rows(3, 1),
                    PROMPTS,
                    base_url=server.url,
                    model="m",
                    load=load_of(concurrency=3),
                    recorder=recorder,
                )
            )
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    writer = SegmentWriter(tmp_path / "segments", limit_bytes=2**24)
    recorder = Recorder(writer)
    writer.start()
    uvloop.run(main())
    writer.close()

    attempts, _ = read_back(tmp_path)
    assert len(attempts) == 3
    assert {a["end"] for a in attempts.values()} == {None}


def test_a_fault_in_a_callback_ends_the_drive_with_that_fault(tmp_path: Path) -> None:
    def fails(done: int, total: int, message: str) -> None:
        raise RuntimeError("the display broke")

    with pytest.raises(RuntimeError, match="the display broke"):
        drive_against(says_nothing, tmp_path, progress=fails)


# Around it


def test_progress_comes_at_most_five_times_a_second(tmp_path: Path) -> None:
    seen: list[tuple[int, int, str]] = []

    outcome = drive_against(answers_after(0.5), tmp_path, progress=lambda *line: seen.append(line))

    seconds = (outcome.report.ended_ns - outcome.report.origin_ns) / 1e9
    assert 2 <= len(seen) <= seconds * 5 + 1  # and one at the end
    assert seen[-1][:2] == (1, 1)


def test_a_shared_client_keeps_its_connection_from_warm_up_to_cases(tmp_path: Path) -> None:
    async def main() -> int:
        async with serving(answers_well) as server:
            client = open_client(server.url, load_of(), recorder)
            await client.open()
            for segment in ("warmup", "cases"):
                await drive(
                    [plan_row(1, segment)],
                    PROMPTS,
                    base_url=server.url,
                    model="m",
                    load=load_of(),
                    recorder=recorder,
                    client=client,
                )
            await client.close()
            return server.connections

    writer = SegmentWriter(tmp_path / "segments", limit_bytes=2**24)
    recorder = Recorder(writer)
    writer.start()
    connections = uvloop.run(main())
    writer.close()

    attempts, _ = read_back(tmp_path)
    assert connections == 1
    assert attempts["cases-0001.A1"]["connection_reused"] is True


def test_garbage_collection_rests_during_a_drive_and_is_back_after_it(tmp_path: Path) -> None:
    during: list[bool] = []

    async def looks(exchange: Exchange) -> None:
        during.append(gc.isenabled())
        await exchange.send(answer())

    drive_against(looks, tmp_path)

    assert during == [False]
    assert gc.isenabled()


def test_a_drive_leaves_no_garbage_that_only_the_collector_could_free(tmp_path: Path) -> None:
    """Cycles would pile up while the collector rests."""
    gc.collect()
    gc.disable()
    try:
        drive_against(answers_well, tmp_path, rows=[plan_row(n + 1) for n in range(40)])
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        kept = [type(o).__name__ for o in gc.garbage]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()

    assert kept.count("Attempt") < 5  # not one for each of the 40 requests
    assert kept.count("Connection") < 5


@pytest.mark.req("8.05")
def test_offered_created_and_ended_requests_are_reconciled(tmp_path: Path) -> None:
    async def mixed(exchange: Exchange) -> None:
        kind = exchange.number % 4
        if kind == 0:
            await exchange.send(answer())
        elif kind == 1:
            await exchange.send(plain("429 Too Many Requests", b""))
        elif kind == 2:
            await exchange.send(HEAD_CHUNKED + chunk(event("a")))
            exchange.close()
        else:
            await says_nothing(exchange)

    outcome = drive_against(
        mixed,
        tmp_path,
        rows=closed_rows(4, 5),
        load=load_of(concurrency=4, timeouts={"first_byte_s": 0.6}),
    )

    report = outcome.report
    assert report.offered == report.created + report.not_created == 20
    assert sum(report.ends.values()) + report.unfinalised == report.attempts == 20
    assert report.ends == {"closed": 10, "error": 5, "timeout": 5}
    assert len(outcome.attempts) == 20


def test_a_fault_while_connecting_ends_the_drive_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(client: object, attempt: object) -> None:
        raise RuntimeError("a bug of ours")

    monkeypatch.setattr("runners.load.client.Connection", fails)

    with pytest.raises(RuntimeError, match="a bug of ours"):
        drive_against(answers_well, tmp_path)
