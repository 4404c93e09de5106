"""Stages of a request and of a task from what was seen, worked by hand."""

from itertools import pairwise

import pytest

from assay.analysis.documents import Interval, Lane
from assay.analysis.errors import BadRecord
from assay.analysis.stage_graph import SERVER_AS_ONE, Step, read_path, request_stages, task_stages

MS = 1_000_000
CLIENT = [("created", 0), ("sent", 1), ("first_byte", 58), ("first_content", 60), ("done", 105)]
SERVER = [
    ("front_received", 3),
    ("queued", 4),
    ("scheduled", 24),
    ("first_token", 54),
    ("front_written", 56),
    ("last_token", 99),
]


def lane(perspective: str, marks: list[tuple[str, int]], domain: str = "a") -> Lane:
    pairs = pairwise(marks)
    return Lane(
        attempt_id="r.A1",
        perspective=perspective,
        clock_domain=domain,
        intervals=[
            Interval(
                name="",
                start_event=first,
                end_event=last,
                from_ns=start * MS,
                to_ns=end * MS,
                on_path=True,
                origin="measured",
            )
            for (first, start), (last, end) in pairs
        ],
        sum_ns=None,
        end_minus_start_ns=None,
        cross_check=True,
        rejected=[],
    )


@pytest.mark.req("4.06")
def test_both_sides_of_one_clock_make_a_chain_that_adds_up_to_the_whole() -> None:
    stages, lacking, notes = request_stages([lane("client", CLIENT), lane("server", SERVER)])

    assert {name: round(s.duration_s * 1e3) for name, s in stages.items()} == {
        "created to sent": 1,  # no connection was opened: the send began with the creation
        "to the server": 2,
        "front end": 1,
        "queue": 20,
        "prefill": 30,
        "first write": 2,
        "to the client": 4,
        "decode": 39,
        "last_token to done": 6,
    }
    # 105 ms in all, and every stage is on the only path
    reading = read_path(stages, not_covered=lacking, notes=notes)
    assert reading.path.total_s == pytest.approx(0.105)
    assert reading.path.incomplete is None
    assert {row.on_path for row in reading.rows} == {True}
    queue = next(row for row in reading.rows if row.name == "queue")
    assert queue.gain_limit_s == pytest.approx(0.020)
    assert "If queue took 0 s" in queue.if_removed.sentence


@pytest.mark.req("4.03")
def test_without_the_server_s_record_its_part_is_one_stage_and_the_path_is_incomplete() -> None:
    stages, lacking, notes = request_stages([lane("client", CLIENT)])

    assert "sent to first_content" in stages
    assert lacking == ["waiting", "computing", "transfer"]
    assert notes == [SERVER_AS_ONE]
    reading = read_path(stages, not_covered=lacking)
    assert reading.path.incomplete == "the graph does not cover waiting, computing, transfer"


@pytest.mark.req("3.01")
@pytest.mark.forbids
def test_instants_of_another_clock_are_not_put_on_the_path() -> None:
    lanes = [lane("client", CLIENT), lane("server", SERVER, domain="b")]

    stages, lacking, _ = request_stages(lanes)

    assert "prefill" not in stages
    assert "computing" in lacking


@pytest.mark.req("4.02")
@pytest.mark.forbids
def test_an_instant_against_the_order_of_dependency_is_left_out_and_named() -> None:
    late = [*SERVER[:-1], ("last_token", 59)]  # before the first content event reached the client

    stages, _, notes = request_stages([lane("client", CLIENT), lane("server", late)])

    assert "decode" not in stages
    assert notes == ["last_token lies before first_content: left out of the path"]
    assert sum(s.duration_s for s in stages.values()) == pytest.approx(0.105)


def test_an_attempt_that_the_client_never_saw_has_no_path() -> None:
    with pytest.raises(BadRecord, match="no client lane"):
        request_stages([lane("server", SERVER)])


@pytest.mark.req("4.09")
def test_a_task_waits_for_its_longest_branch_and_the_others_have_slack() -> None:
    stages = task_stages(
        [
            Step(name="a", duration_s=3.0),
            Step(name="b", duration_s=1.0),
            Step(name="join", duration_s=2.0, after=("a", "b"), delay_s=0.5, delay_name="tool"),
        ]
    )

    reading = read_path(stages)

    # 3 + 0.5 + 2; b may grow by 2 before it is on the path, and removing it saves nothing
    assert reading.path.total_s == pytest.approx(5.5)
    assert reading.path.path == ("a", "tool", "join")
    b = next(row for row in reading.rows if row.name == "b")
    assert (b.on_path, b.slack_s, b.gain_limit_s) == (False, 2.0, 0.0)
    a = next(row for row in reading.rows if row.name == "a")
    assert a.gain_limit_s == pytest.approx(2.0)  # then b is the longest
    assert a.range.low_s == pytest.approx(1.0)
    assert "a and b overlap (assumed: no evidence)" in a.if_removed.assumptions
