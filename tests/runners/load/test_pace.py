from typing import Any

import pytest

from runners.load.pace import ClosedLoop, OpenLoop, pace
from runners.load.requests import PreparedRequest
from runners.protocol.errors import Refused
from tests.runners.load.drives import load_of, plan_row


def requests(*rows: dict[str, Any]) -> list[PreparedRequest]:
    return [PreparedRequest(row=row, head=b"", body=()) for row in rows]


def taken(plan: ClosedLoop, slot: int) -> list[int]:
    found = []
    while (request := plan.take(slot)) is not None:
        found.append(request.row["sequence"])
    return found


def test_rows_with_offsets_are_an_open_loop_in_order_of_time_then_of_the_plan() -> None:
    plan = pace(
        requests(
            plan_row(1, "load", offset_ns=20),
            plan_row(2, "load", offset_ns=0),
            plan_row(3, "load", offset_ns=20),
        ),
        load_of(kind="poisson"),
    )

    assert isinstance(plan, OpenLoop)
    assert [r.row["sequence"] for r in plan.requests] == [2, 1, 3]
    assert plan.offsets_ns == (0, 20, 20)


def test_each_slot_of_a_closed_loop_sends_its_own_rows() -> None:
    rows = [plan_row(n, "load", slot=n % 2) for n in range(1, 6)]

    plan = pace(requests(*rows), load_of(concurrency=9))

    assert isinstance(plan, ClosedLoop)
    assert plan.slots == [
        0,
        1,
    ]  # the plan names them; nine slots for five rows would send nothing more
    assert (taken(plan, 0), taken(plan, 1)) == ([2, 4], [1, 3, 5])


def test_unassigned_rows_are_shared_by_as_many_slots_as_the_load_declares() -> None:
    plan = pace(requests(*(plan_row(n, "load") for n in range(1, 5))), load_of(concurrency=3))

    assert isinstance(plan, ClosedLoop)
    assert plan.slots == [0, 1, 2]
    assert plan.take(2) is not None
    assert taken(plan, 0) == [2, 3, 4]


@pytest.mark.parametrize("segment", ["warmup", "cases", "profile"])
def test_only_the_load_segment_knows_concurrency_and_think_time(segment: str) -> None:
    plan = pace(
        requests(plan_row(1, segment), plan_row(2, segment)),
        load_of(concurrency=8, think_time_s=1.0),
    )

    assert isinstance(plan, ClosedLoop)
    assert (plan.slots, plan.think.ns("load-0001")) == ([0], 0)


@pytest.mark.parametrize(
    ("rows", "kind", "seen"),
    [
        ([plan_row(1, "load", offset_ns=0), plan_row(2, "load")], "constant", "null in some rows"),
        ([plan_row(1, "load", offset_ns=0)], "closed", "rows with offsets, load.kind closed"),
        ([plan_row(1, "load")], "poisson", "rows without offsets, load.kind poisson"),
        ([plan_row(1, "load", offset_ns=-1)], "constant", "-1"),
    ],
)
def test_a_plan_that_is_not_of_this_load_is_refused(
    rows: list[dict[str, Any]], kind: str, seen: str
) -> None:
    with pytest.raises(Refused, match=rf"plan\.offset_ns: {seen}"):
        pace(requests(*rows), load_of(kind=kind))
