"""Rows become messages in order, whoever packs them, and no row is lost or packed twice."""

import threading
from typing import Any

import pyarrow as pa

from runners.protocol.packing import Packed, Packing
from runners.protocol.tables import ATTEMPTS, WIRE

EVERYTHING = 2**30


def packing(**options: Any) -> Packing:
    return Packing(WIRE, slice_bytes=2**18, **options)


def append(packing: Packing, first: int, count: int, size: int = 10) -> None:
    for n in range(first, first + count):
        packing.append((f"a{n}", n, bytes(size)))


def times(packed: list[Packed]) -> list[int]:
    """The t_ns of all rows of these messages."""
    found: list[int] = []
    for part in packed:
        batch = pa.ipc.read_record_batch(pa.py_buffer(part.message), WIRE)
        assert part.rows == batch.num_rows
        found += batch.column(1).to_pylist()
    return found


def test_the_loop_packs_a_slice_at_a_time_and_leaves_what_is_not_worth_a_message() -> None:
    # A wire row has 3 columns: a slice is 256 rows, worth packing from 128 on.
    waiting = packing()
    append(waiting, 0, 256 + 128 + 127)

    turns = [waiting.pack_if_worth() for _ in range(3)]

    assert turns == [True, False, False]  # 255 are left, then none that is worth it
    assert waiting.waiting == 0
    append(waiting, 511, 127)
    assert not waiting.pack_if_worth()
    assert waiting.waiting == 127


def test_a_slice_of_wide_rows_has_fewer_of_them() -> None:
    # 26 columns: 3072 // 26 + 1 = 119 rows, worth packing from 59 on.
    waiting = Packing(ATTEMPTS, slice_bytes=2**18)
    row = ("a1", "r", "t", "s", "m", None, "measure", "load", None, 1, 0) + (None,) * 13
    for _ in range(119 + 58):
        waiting.append((*row, 0, 64))

    assert not waiting.pack_if_worth()
    assert waiting.waiting == 58


def test_a_slice_ends_at_so_many_bytes_of_payload() -> None:
    waiting = packing()
    append(waiting, 0, 200, size=2**16)  # four of them are 2**18 bytes

    waiting.pack_if_worth()

    assert waiting.waiting == 196


def test_messages_come_in_the_order_of_the_rows_up_to_the_position_asked_for() -> None:
    waiting = packing()
    append(waiting, 0, 300)
    waiting.pack_if_worth()
    until = waiting.position()
    append(waiting, 300, 5)

    assert until == 300
    assert times(waiting.take(EVERYTHING, until=until)) == list(range(300))
    assert waiting.take(EVERYTHING, until=until) == []
    assert times(waiting.take(EVERYTHING, until=waiting.position())) == list(range(300, 305))


def test_a_row_that_does_not_fit_is_named_in_its_place_and_those_after_it_are_packed() -> None:
    waiting = packing()
    waiting.append(("a", "no time", b""))
    first = waiting.take(EVERYTHING, until=1)
    append(waiting, 7, 1)

    (problem,) = first
    assert problem.rows == 1
    assert "does not fit the schema" in str(problem.problem)
    assert times(waiting.take(EVERYTHING, until=waiting.position())) == [7]


def test_rows_that_the_transform_leaves_out_are_passed_over() -> None:
    waiting = packing(transform=lambda rows: [row for row in rows if row[1] >= 300])
    append(waiting, 0, 301)  # two slices: 256 rows, none kept, and 45 rows, one kept

    found = waiting.take(EVERYTHING, until=waiting.position())

    assert [part.rows for part in found] == [0, 1]
    assert times(found[1:]) == [300]


def test_two_threads_that_pack_at_once_lose_no_row_and_keep_their_order() -> None:
    waiting, found = packing(), list[Packed]()
    is_over = threading.Event()

    def write() -> None:
        while not is_over.is_set() or waiting.waiting:
            found.extend(waiting.take(10_000, until=waiting.position()))

    writer = threading.Thread(target=write)
    writer.start()
    for first in range(0, 40_000, 200):
        append(waiting, first, 200)
        waiting.pack_if_worth()
    is_over.set()
    writer.join()
    found.extend(waiting.take(EVERYTHING, until=waiting.position()))

    assert times(found) == list(range(40_000))
