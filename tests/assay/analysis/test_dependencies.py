"""External dependencies are accounted one by one; there is no remainder."""

import json
from typing import Any

import pytest

from assay.analysis.dependencies import (
    CallOutcome,
    DependencyCall,
    DependencyLog,
    account,
    injected_calls,
)
from assay.analysis.errors import BadRecord
from assay.analysis.events import EventRecord
from assay.analysis.recorded import RecordedStream, interpret_recorded
from tests.assay.analysis.streams import DONE, delta, read, row

MS = 1_000_000


def call(
    name: str, start_ms: int, wall_ms: int | None, outcome: str = "completed", domain: str = "c"
) -> DependencyCall:
    return DependencyCall(
        dependency=name,
        from_ns=start_ms * MS,
        to_ns=None if wall_ms is None else (start_ms + wall_ms) * MS,
        outcome=CallOutcome(outcome),
        clock_domain=domain,
    )


def event(name: str, t_ms: int, **value: object) -> EventRecord:
    return EventRecord(
        event=name,
        t_ns=t_ms * MS,
        clock_domain="c",
        error_ns=0,
        layer="server",
        perspective="server",
        value=value,
        evidence="events:1",
    )


@pytest.mark.req("2.05")
def test_each_dependency_has_calls_distribution_failures_and_concurrency() -> None:
    calls = [
        call("search", 0, 80),
        call("search", 10, 900),
        call("search", 20, 100, "failed"),
        call("search", 120, 80),  # begins as the one before it ends
        call("search", 300, 200, "timeout"),
        call("rates", 0, None, "unfinished"),
    ]
    declared = [
        {"name": "search", "mocked": False, "fixed_delay_s": None},
        {"name": "mail", "mocked": True, "fixed_delay_s": 0.05},
    ]

    search, mail, rates = account(calls, declared)

    assert (search["calls"], search["failures"], search["timeouts"]) == (5, 1, 1)
    wall = search["wall_clock"]
    # Walls 80, 80, 100, 200, 900 ms: 1360 in all, 272 on average; nearest rank of 5: p50 the third, p90 and
    # p99 the fifth.
    assert wall["n"] == 5
    assert wall["total_s"] == pytest.approx(1.36)
    assert wall["mean_s"] == pytest.approx(0.272)
    assert (wall["p50_s"], wall["p90_s"], wall["p99_s"]) == (0.1, 0.9, 0.9)
    # Three at 20 ms; at 120 ms one of them goes as the fourth comes.
    assert search["most_at_once"] == 3
    assert search["mark"] is None
    assert (mail["calls"], mail["wall_clock"]["p50_s"]) == (0, None)
    assert (
        mail["mark"] == "mocked: the variability of the real dependency was outside the experiment"
    )
    assert (rates["declared"], rates["mocked"], rates["unfinished"]) == (False, None, 1)
    assert rates["mark"] == "called, and not among the declared dependencies of the boundary"
    assert [a["dependency"] for a in (search, mail, rates)] == ["search", "mail", "rates"]


def test_calls_of_two_clocks_have_no_common_concurrency() -> None:
    (found,) = account([call("a", 0, 10), call("a", 5, 10, domain="d")], [])

    assert found["most_at_once"] is None
    assert found["wall_clock"]["n"] == 2  # durations are each of one clock


@pytest.mark.req("2.05")
def test_calls_come_out_of_events_paired_by_their_name_and_call() -> None:
    log = DependencyLog()
    for told in (
        event("tool.dependency_started", 0, dependency="search", call="1"),
        event("tool.dependency_started", 5, dependency="search", call="2"),
        event("tool.dependency_ended", 9, dependency="search", call="2", outcome="timeout"),
        event("queued", 10),
    ):
        log.take(told)

    assert log.calls() == [
        call("search", 0, None, "unfinished"),
        call("search", 5, 4, "timeout"),
    ]


@pytest.mark.forbids
@pytest.mark.req("2.05")
@pytest.mark.parametrize(
    ("value", "allowed"),
    [
        ({"call": "1"}, "an object with dependency and call"),
        ({"dependency": "", "call": "1"}, "an object with dependency and call"),
        (
            {"dependency": "a", "call": "9"},
            "the end of a call whose dependency_started came before",
        ),
        ({"dependency": "a", "call": "1", "outcome": "meh"}, "completed, failed, timeout"),
    ],
)
def test_an_end_that_belongs_to_nothing_is_refused(value: dict[str, str], allowed: str) -> None:
    log = DependencyLog()
    log.take(event("dependency_started", 0, dependency="a", call="1"))

    with pytest.raises(BadRecord, match=allowed):
        log.take(event("dependency_ended", 1, **value))


@pytest.mark.req("2.05", "2.09")
def test_an_injected_wait_is_measured_and_not_taken_from_its_declaration() -> None:
    """Declared 50 ms; the next request was created 53 ms after the one before it had ended."""
    plan: list[dict[str, Any]] = [
        {"request_id": "r1", "dependency": None, "after_delay_ns": None},
        {"request_id": "r2", "dependency": "search", "after_delay_ns": 50 * MS},
        {"request_id": "r3", "dependency": "search", "after_delay_ns": 50 * MS},
    ]
    inputs = [
        {"request_id": "r2", "ready_ns": 1000 * MS},
        {"request_id": "r3", "ready_ns": 2000 * MS},
    ]

    calls = injected_calls(plan, inputs, {"r1": 0, "r2": 1053 * MS}, clock_domain="c")

    assert calls == [call("search", 1000, 53), call("search", 2000, None, "unfinished")]


@pytest.mark.req("2.05", "2.09")
def test_dependencies_of_a_recorded_stream_stand_apart_from_the_generation() -> None:
    """The search takes 900 ms before a generation of 30 ms; neither is in the other."""
    wire = [
        row("sent", 1000),
        read(1030, delta("hello", finish="stop") + DONE),
        row("closed", 1030),
    ]
    events = [
        {"event": "tool.dependency_started", "t_ns": 100 * MS},
        {"event": "tool.dependency_ended", "t_ns": 1000 * MS},
    ]
    told = [json.dumps({**e, "value": {"dependency": "search", "call": "1"}}) for e in events]
    stream = RecordedStream(
        (json.dumps(line) for line in wire), told, wire_file="wire", events_file="events"
    )

    document = interpret_recorded(stream)

    (search,) = document["dependencies"]
    assert (search["dependency"], search["declared"], search["calls"]) == ("search", False, 1)
    assert search["wall_clock"]["max_s"] == pytest.approx(0.9)
    assert document["attempts"][0]["metrics"]["e2e.client"]["value"] == pytest.approx(0.03)
