"""What ends the sending early, on real sockets: the reason, what was seen, and what became of the rest."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from runners.load.limits import StopReason
from runners.load.saturation import Backlog
from tests.runners.load.drives import Outcome, drive_against, load_of, plan_row
from tests.runners.load.servers import Exchange, answer, answers_well, plain, says_nothing

MS = 1_000_000
S = 1_000_000_000


def stop_of(**rules: Any) -> dict[str, Any]:
    none = dict.fromkeys(("max_duration_s", "max_requests", "max_errors", "max_error_share"))
    return {**none, "error_share_after": 4, "saturation": None, **rules}


def open_rows(count: int, gap_ms: float) -> list[dict[str, Any]]:
    return [plan_row(n + 1, "load", offset_ns=round(n * gap_ms * MS)) for n in range(count)]


def closed_rows(count: int) -> list[dict[str, Any]]:
    return [plan_row(n + 1, "load") for n in range(count)]


def answers_after(seconds: float) -> Any:
    async def behave(exchange: Exchange) -> None:
        await asyncio.sleep(seconds)
        await exchange.send(answer())

    return behave


async def refuses(exchange: Exchange) -> None:
    await exchange.send(plain("500 Internal Server Error", b""))


def reconciles(outcome: Outcome) -> bool:
    report = outcome.report
    return report.offered == report.created + report.not_created and len(outcome.attempts) == (
        report.attempts
    )


def test_a_drive_stops_after_its_duration_and_waits_for_what_is_open(tmp_path: Path) -> None:
    outcome = drive_against(
        answers_after(0.1),
        tmp_path,
        rows=open_rows(100, 10),
        load=load_of(kind="constant", stop=stop_of(max_duration_s=0.2)),
    )

    report = outcome.report
    assert report.stop_reason is StopReason.max_duration
    assert report.stop_seen == "0.2 s had passed since the segment began"
    assert reconciles(outcome)
    # one every 10 ms for 200 ms: 20 or 21, fewer only if the machine was held up
    assert 10 <= report.created <= 21
    assert report.ends == {"closed": report.created}  # every open one was waited for
    last_ns = max(a["created_ns"] for a in outcome.attempts.values())
    assert last_ns - report.origin_ns <= 200 * MS


def test_the_wait_for_what_is_open_is_bounded(tmp_path: Path) -> None:
    outcome = drive_against(
        says_nothing,
        tmp_path,
        rows=open_rows(50, 10),
        load=load_of(kind="constant", drain_s=0.1, stop=stop_of(max_requests=3)),
    )

    report = outcome.report
    assert (report.stop_reason, report.created) == (StopReason.max_requests, 3)
    assert (report.unfinalised, report.not_created) == (3, 47)
    assert report.ended_ns - (report.drain_start_ns or 0) < S


@pytest.mark.parametrize("kind", ["closed", "constant"])
def test_exactly_so_many_requests_are_sent(tmp_path: Path, kind: str) -> None:
    rows = closed_rows(20) if kind == "closed" else open_rows(20, 1)

    outcome = drive_against(
        answers_well,
        tmp_path,
        rows=rows,
        load=load_of(kind=kind, concurrency=3, stop=stop_of(max_requests=7)),
    )

    assert outcome.report.stop_reason is StopReason.max_requests
    assert (outcome.report.created, outcome.report.not_created) == (7, 13)
    assert len(outcome.server.exchanges) == 7
    assert reconciles(outcome)


def test_too_many_errors_stop_the_sending(tmp_path: Path) -> None:
    outcome = drive_against(
        refuses, tmp_path, rows=closed_rows(20), load=load_of(stop=stop_of(max_errors=2))
    )

    report = outcome.report
    assert report.stop_reason is StopReason.max_errors
    assert report.stop_seen == "3 of 3 ended requests failed, more than 2 allowed"
    assert (report.created, report.not_created) == (3, 17)


def test_a_share_of_errors_is_judged_once_enough_requests_have_ended(tmp_path: Path) -> None:
    async def every_other_fails(exchange: Exchange) -> None:
        await (refuses if exchange.number % 2 == 0 else answers_well)(exchange)

    outcome = drive_against(
        every_other_fails,
        tmp_path,
        rows=closed_rows(20),
        load=load_of(stop=stop_of(max_error_share=0.4, error_share_after=4)),
    )

    # 1 of 1 and 2 of 3 would be above 40 %, but four must have ended: 2 of 4 is 50 %
    assert outcome.report.stop_reason is StopReason.max_error_share
    assert (
        outcome.report.stop_seen == "2 of 4 ended requests failed: 50.0%, more than 40.0% allowed"
    )
    assert outcome.report.created == 4


def test_a_request_that_succeeds_at_its_second_try_is_no_error(tmp_path: Path) -> None:
    async def first_try_fails(exchange: Exchange) -> None:
        await (refuses if exchange.attempt_id.endswith("A1") else answers_well)(exchange)

    outcome = drive_against(
        first_try_fails,
        tmp_path,
        rows=closed_rows(5),
        load=load_of(retry={"count": 1}, stop=stop_of(max_errors=0)),
    )

    assert outcome.report.stop_reason is StopReason.plan_done
    assert (outcome.report.created, outcome.report.attempts) == (5, 10)


def test_nothing_is_tried_again_once_the_sending_has_stopped(tmp_path: Path) -> None:
    outcome = drive_against(
        refuses,
        tmp_path,
        rows=closed_rows(5),
        load=load_of(
            retry={"count": 5, "backoff_s": 0.2}, stop=stop_of(max_duration_s=0.1), drain_s=2.0
        ),
    )

    assert outcome.report.stop_reason is StopReason.max_duration
    assert outcome.report.attempts == 1


def test_other_segments_know_no_stop_rules(tmp_path: Path) -> None:
    outcome = drive_against(
        answers_well,
        tmp_path,
        rows=[plan_row(n + 1, "warmup") for n in range(3)],
        load=load_of(stop=stop_of(max_requests=1)),
    )

    assert (outcome.report.stop_reason, outcome.report.created) == (StopReason.plan_done, 3)


SATURATION = {"span_s": 2.0, "level": 0.001, "growth_share": 0.2}


def test_an_open_loop_above_capacity_is_stopped(tmp_path: Path) -> None:
    def one_at_a_time() -> Any:
        lock: list[asyncio.Lock] = []

        async def behave(exchange: Exchange) -> None:
            if not lock:
                lock.append(asyncio.Lock())  # of the server's own loop
            async with lock[0]:
                await asyncio.sleep(0.05)
            await exchange.send(answer())

        return behave

    outcome = drive_against(
        one_at_a_time(),
        tmp_path,
        rows=open_rows(800, 10),  # 100 a second; about 20 a second are served
        load=load_of(
            kind="constant", concurrency=None, drain_s=0.1, stop=stop_of(saturation=SATURATION)
        ),
    )

    report = outcome.report
    assert report.stop_reason is StopReason.saturation
    assert "the backlog rose by" in (report.stop_seen or "")
    # the first end, then a span of 2 s, and blocks end on ticks of 50 ms: long before the 8 s of the plan
    assert report.created < 600
    assert reconciles(outcome)


def looks(
    rate_per_s: float, served_per_s: float, *, seconds: float, latency_s: float
) -> str | None:
    """Twenty looks a second at a backlog that fills up and then is served at this rate."""
    backlog = Backlog(span_s=2.0, level=0.001, growth_share=0.1)
    for tick in range(round(seconds * 20)):
        t = tick / 20
        due = int(rate_per_s * t)
        ended = min(int(max(t - latency_s, 0) * served_per_s), due)
        if seen := backlog.look(round(t * S) + 1, due=due, ended=ended):
            return seen
    return None


@pytest.mark.parametrize(
    ("served_per_s", "is_seen"), [(100, False), (95, False), (80, True), (20, True)]
)
def test_saturation_is_a_backlog_that_grows_by_the_declared_share(
    served_per_s: float, is_seen: bool
) -> None:
    # 100 come a second: at 80 served a fifth of them stays, above the declared tenth; at 95 a twentieth
    seen = looks(100, served_per_s, seconds=12, latency_s=0.5)

    assert (seen is not None) is is_seen


def test_a_system_that_fills_up_is_not_saturated() -> None:
    # nothing ends for 5 s, far longer than the span of 2 s: 500 wait, and then all is served as it comes
    assert looks(100, 100, seconds=20, latency_s=5.0) is None
