"""While a drive goes its event loop packs what was captured, and stops when the drive is over."""

import asyncio
from pathlib import Path

import uvloop

from runners.load.packing_turns import PackingTurns
from runners.protocol.segments import SegmentStream
from runners.protocol.tables import WIRE


def captured(folder: Path) -> SegmentStream:
    stream = SegmentStream(folder, "wire", WIRE, worker=0, limit_bytes=2**24)
    for n in range(1000):
        stream.append((f"a{n}", n, b"data"))
    return stream


def test_the_loop_packs_slice_after_slice_and_serves_others_in_between(tmp_path: Path) -> None:
    stream = captured(tmp_path)
    seen: list[int] = []

    async def drive() -> None:
        turns = PackingTurns(stream.pack_if_worth)
        turns.start()
        while stream.waiting >= 128:
            seen.append(stream.waiting)
            await asyncio.sleep(0)
        turns.close()

    uvloop.run(drive())

    # Slices of 256: 1000, 744, 488 and 232 rows wait in turn, and others had the loop at each of them.
    assert sorted(set(seen), reverse=True) == [1000, 744, 488, 232]
    assert stream.waiting == 0
    assert stream.close().rows_written == 1000


def test_nothing_is_packed_once_the_turns_are_over(tmp_path: Path) -> None:
    stream = captured(tmp_path)

    async def drive() -> None:
        turns = PackingTurns(stream.pack_if_worth)
        turns.start()
        turns.close()
        await asyncio.sleep(0.02)  # five turns

    uvloop.run(drive())

    assert stream.waiting == 1000
