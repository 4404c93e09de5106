"""Lanes are of one side and one clock, and their sums are checked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.attempt_lanes import _lane, _wire_instants, attempt_lanes
from assay.analysis.errors import ClaimRefused
from assay.analysis.lanes import Interval, Mark, check_sum, lane_of, require_checked
from assay.analysis.wire.attempt import Attempt, AttemptIds
from tests.assay.analysis.engine import EngineLog, Reading, cancelled_in_decode
from tests.assay.analysis.streams import MS, attempts, delta, read, row


def mark(event: str, t_ns: int, domain: str = "c", side: str = "client") -> Mark:
    return Mark(event=event, t_ns=t_ns, clock_domain=domain, perspective=side)


def interval(start: int, end: int, name: str = "") -> Interval:
    return Interval(
        name=name or f"{start}-{end}",
        start_event="s",
        end_event="e",
        from_ns=start,
        to_ns=end,
        clock_domain="c",
        perspective="client",
    )


@pytest.mark.req("3.03")
@pytest.mark.parametrize("other", [mark("b", 5, domain="s"), mark("b", 5, side="server")])
def test_marks_of_two_clocks_or_two_sides_are_no_lane(other: Mark) -> None:
    with pytest.raises(ClaimRefused, match="one clock domain and one perspective"):
        lane_of([mark("a", 0), other])


@pytest.mark.req("3.02")
def test_an_interval_names_its_events_its_clock_and_whether_it_is_on_the_path() -> None:
    (found,) = lane_of([mark("b", 7), mark("a", 2)])

    assert (found.start_event, found.end_event, found.duration_ns) == ("a", "b", 5)
    assert found.clock_domain == "c"
    assert found.on_path
    assert found.origin == "measured"


@pytest.mark.req("3.05")
def test_overlapping_and_nested_intervals_are_named_and_left_out() -> None:
    found = check_sum(
        [interval(0, 10), interval(5, 12, "late"), interval(2, 3, "inner"), interval(10, 20)],
        start_ns=0,
        end_ns=20,
    )

    assert found.sum_ns == 20
    assert found.ok
    assert [r.split(" (")[0] for r in found.rejected] == [
        "inner: nested in 0-10",
        "late: overlaps 0-10",
    ]


@pytest.mark.req("3.04", "3.06")
@pytest.mark.forbids
def test_neither_direction_of_a_mismatch_passes() -> None:
    omitted = check_sum([interval(0, 10)], start_ns=0, end_ns=20)
    beyond = check_sum([interval(0, 10), interval(10, 30)], start_ns=0, end_ns=20)

    for lane in (omitted, beyond):
        with pytest.raises(ClaimRefused):
            require_checked(lane)


def test_an_empty_lane_has_no_sum() -> None:
    assert check_sum([], start_ns=0, end_ns=1).sum_ns is None


def test_an_attempt_has_a_lane_on_each_side_from_its_own_marks() -> None:
    client = attempts(row("created", 0), row("sent", 1), read(33, delta("x")), row("cancel", 100))

    lanes = Reading(cancelled_in_decode(), client).document()["lanes"]

    names = {lane["perspective"]: [i["name"] for i in lane["intervals"]] for lane in lanes}
    assert names["client"] == ["send", "wait for first content", "until the client left"]
    assert names["server"][:3] == ["front end", "queue", "prefill"]
    assert all(lane["cross_check"] for lane in lanes)
    server = next(lane for lane in lanes if lane["perspective"] == "server")
    assert server["end_minus_start_ns"] == (115 - 2) * MS


@pytest.mark.req("2.04", "10.13")
@pytest.mark.forbids
def test_a_part_that_was_not_measured_alone_is_seen_only_within_the_whole() -> None:
    log = EngineLog()
    log.add("queued", 3, "a")
    log.add("first_token", 30, "a", index=0)
    log.add("finished", 50, "a", reason="stop", tokens_out=2)
    client = attempts(
        row("sent", 1), read(33, delta("x")), read(53, delta("y", finish="stop")), row("closed", 54)
    )

    document = Reading(log, client).document()

    # No record says when it was scheduled: 27 ms to the first token stay one piece.
    metrics = document["attempts"][0]["metrics"]
    assert metrics["ttft.server"]["value"] == pytest.approx(0.027)
    for part_of_it in ("queue.server", "prefill.server"):
        assert metrics[part_of_it]["value"] is None
        assert metrics[part_of_it]["absent"].startswith("the server's record lacks")
    (lane,) = [lane for lane in document["lanes"] if lane["perspective"] == "server"]
    pieces = [(i["start_event"], i["end_event"]) for i in lane["intervals"]]
    assert pieces[0] == ("queued", "first_token")
    assert not {"queue", "prefill"} & {i["name"] for i in lane["intervals"]}
    assert document["ghost_load"] == []


_INSTANTS = st.one_of(st.none(), st.integers(0, 5))


@given(st.lists(_INSTANTS, min_size=9, max_size=9))
def test_the_lane_of_the_wire_is_the_checked_lane_of_its_marks(times: list[int | None]) -> None:
    attempt = Attempt(ids=AttemptIds(attempt_id="a"), clock_domain="c")
    reply = attempt.reply
    (attempt.created_ns, attempt.connect_start_ns, attempt.connected_ns, attempt.sent_ns) = times[
        :4
    ]
    (attempt.first_byte_ns, reply.first_content_ns, attempt.body_end_ns) = times[4:7]
    attempt.decided_ns = times[7]
    if times[8] is not None:
        reply.chunk_times_ns.append(times[8])

    (*found,) = attempt_lanes(attempt, None, ())

    marks = [mark(event, t_ns) for event, t_ns in _wire_instants(attempt)]
    checked = _lane("a", marks)
    assert found == ([] if checked is None else [checked])
