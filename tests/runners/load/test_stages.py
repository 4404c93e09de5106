"""A closed loop in stages, on real sockets: the concurrency changes at absolute times."""

import asyncio
from pathlib import Path
from typing import Any

from runners.load.limits import StopReason
from tests.runners.load.drives import drive_against, load_of, plan_row
from tests.runners.load.servers import Exchange, answer, answers_well

MS = 1_000_000


def stage(concurrency: int, **bound: Any) -> dict[str, Any]:
    return {
        "rate_per_s": None,
        "concurrency": concurrency,
        "duration_s": None,
        "requests": None,
        "spacing": "even",
        **bound,
    }


def staged(*stages: dict[str, Any]) -> dict[str, Any]:
    return load_of(kind="staged", concurrency=None, stages=list(stages))


def rows(count: int) -> list[dict[str, Any]]:
    return [plan_row(n + 1, "load") for n in range(count)]


async def answers_in_20_ms(exchange: Exchange) -> None:
    await asyncio.sleep(0.02)
    await exchange.send(answer())


def test_stages_begin_at_absolute_times_and_hold_their_concurrency(tmp_path: Path) -> None:
    outcome = drive_against(
        answers_in_20_ms,
        tmp_path,
        rows=rows(500),
        load=staged(stage(1, duration_s=0.2), stage(4, duration_s=0.2), stage(2, duration_s=0.2)),
    )

    report = outcome.report
    starts = [s.from_ns - report.origin_ns for s in report.stages]
    assert starts == [0, 200 * MS, 400 * MS]
    assert [s.concurrency for s in report.stages] == [1, 4, 2]
    assert report.stop_reason is StopReason.profile_done
    assert report.not_created == 500 - report.created > 0
    for span, allowed in zip(report.stages, (1, 4, 2), strict=True):
        # A slot that is parked ends its request first: look after the 20 ms that this may take.
        middle = (span.from_ns + span.to_ns) // 2 + 20 * MS
        busy = sum(a["created_ns"] <= middle < a["ended_ns"] for a in outcome.attempts.values())
        assert busy <= allowed
    per_stage = [
        sum(s.from_ns <= a["created_ns"] < s.to_ns for a in outcome.attempts.values())
        for s in report.stages
    ]
    assert per_stage[1] > per_stage[0]
    assert per_stage[1] > per_stage[2]


def test_a_stage_may_be_for_a_number_of_requests(tmp_path: Path) -> None:
    outcome = drive_against(
        answers_well,
        tmp_path,
        rows=rows(30),
        load=staged(stage(1, requests=4), stage(3, requests=6), stage(2, requests=20)),
    )

    first, second, third = outcome.report.stages
    created = sorted(a["created_ns"] for a in outcome.attempts.values())
    # the stage is over as soon as its last request was created: requests 4 and 10
    assert created[3] <= second.from_ns <= created[4]
    assert created[9] <= third.from_ns
    assert first.to_ns == second.from_ns
    assert outcome.report.stop_reason in (StopReason.plan_done, StopReason.profile_done)
    assert outcome.report.created == 30


def test_a_plan_that_runs_out_ends_the_stages(tmp_path: Path) -> None:
    outcome = drive_against(
        answers_well,
        tmp_path,
        rows=rows(3),
        load=staged(stage(2, duration_s=30.0), stage(4, duration_s=30.0)),
    )

    assert outcome.report.stop_reason is StopReason.plan_done
    assert len(outcome.report.stages) == 1
