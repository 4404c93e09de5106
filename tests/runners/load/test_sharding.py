"""One plan, several processes: what belongs together stays together, nothing is lost or moved in time."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.load.sharding import shards, share_of_load

OPEN: dict[str, Any] = {"kind": "poisson", "concurrency": None, "stages": []}


def staged(*slots: int) -> dict[str, Any]:
    stages = [{"rate_per_s": None, "concurrency": n, "duration_s": 1.0} for n in slots]
    return {"kind": "staged", "concurrency": None, "stages": stages}


def row(number: int, **more: Any) -> dict[str, Any]:
    name = f"load-{number:04d}"
    return {
        "request_id": name,
        "task_id": f"T-{name}",
        "session_id": f"S-{name}",
        "slot": None,
        "offset_ns": number * 10,
        "after": [],
    } | more


def numbers(part: list[Any]) -> list[int]:
    return [int(r["request_id"][-4:]) for r in part]


def test_open_arrivals_are_dealt_out_in_turn_and_keep_their_times() -> None:
    rows = [row(n) for n in range(5)]

    first, second = shards(rows, OPEN, 2)

    assert numbers(first) == [0, 2, 4]
    assert numbers(second) == [1, 3]
    assert [r["offset_ns"] for r in second] == [10, 30]


def test_a_slot_stays_in_one_process() -> None:
    rows = [row(n, slot=n % 3) for n in range(9)]

    first, second = shards(rows, OPEN, 2)

    # slots 0 and 2 go to the first process, slot 1 to the second
    assert {r["slot"] for r in first} == {0, 2}
    assert {r["slot"] for r in second} == {1}


@pytest.mark.parametrize("tie", ["session_id", "task_id"])
def test_a_session_or_task_stays_in_one_process(tie: str) -> None:
    rows = [row(n, **{tie: f"x{n // 2}"}) for n in range(6)]  # three pairs

    first, second = shards(rows, OPEN, 2)

    assert numbers(first) == [0, 1, 4, 5]
    assert numbers(second) == [2, 3]


def test_a_request_goes_with_the_one_that_it_waits_for() -> None:
    rows = [row(0), row(1), row(2, after=["load-0001"]), row(3, after=["load-0000", "load-0002"])]

    first, second = shards(rows, OPEN, 2)

    assert numbers(first) == [0, 1, 2, 3]  # the last one ties both chains together
    assert second == []


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=40),
    st.integers(1, 5),
)
def test_every_row_is_in_exactly_one_process_and_in_plan_order(
    drawn: list[tuple[int, int]], processes: int
) -> None:
    rows = [row(n, slot=slot, session_id=f"s{session}") for n, (slot, session) in enumerate(drawn)]

    parts = shards(rows, OPEN, processes)

    assert sorted(n for part in parts for n in numbers(part)) == list(range(len(rows)))
    assert all(numbers(part) == sorted(numbers(part)) for part in parts)
    for tie in ("slot", "session_id"):
        homes = [{r[tie] for r in part} for part in parts]
        assert sum(map(len, homes)) == len({r[tie] for r in rows})  # no tie in two processes


def test_a_closed_loop_has_the_slots_of_its_own_rows() -> None:
    load = {"kind": "closed", "concurrency": 5}
    parts = shards([row(n, slot=n % 5) for n in range(10)], load, 2)

    shares = [share_of_load(load, part, number=n, processes=2) for n, part in enumerate(parts)]

    # slots 0, 2, 4 and slots 1, 3: five together
    assert [share["concurrency"] for share in shares] == [3, 2]
    assert share_of_load(OPEN, parts[0], number=0, processes=2) == OPEN


@pytest.mark.parametrize(
    ("slots", "shares"),
    [(2, [1, 1]), (3, [2, 1]), (7, [4, 3])],
)
def test_the_slots_of_a_stage_are_shared_and_none_is_lost(slots: int, shares: list[int]) -> None:
    load = staged(slots, 4)

    parts = [share_of_load(load, [], number=n, processes=2) for n in range(2)]

    assert [part["stages"][0]["concurrency"] for part in parts] == shares
    assert [part["stages"][1]["concurrency"] for part in parts] == [2, 2]


def test_the_pool_of_stages_is_dealt_out_as_its_slots_are() -> None:
    rows = [row(n) for n in range(9)]

    first, second = shards(rows, staged(1, 3), 2)

    # of three slots, 0 and 2 are the first process's: it has two of every three requests
    assert numbers(first) == [0, 2, 3, 5, 6, 8]
    assert numbers(second) == [1, 4, 7]
