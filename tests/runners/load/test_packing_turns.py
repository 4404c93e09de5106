"""While a drive goes its event loop packs what was captured, and stops when the drive is over."""

import asyncio
from pathlib import Path

import uvloop

from runners.load.packing_turns import PackingTurns
from runners.load.recorder import WIRE_STREAM, Recorder
from runners.protocol.segment_reader import segment_files
from runners.protocol.segment_writer import SegmentWriter


def captured(folder: Path) -> tuple[Recorder, SegmentWriter]:
    writer = SegmentWriter(
        folder, limit_bytes=2**24
    )  # its thread is not started: only the loop packs
    recorder = Recorder(writer)
    for n in range(1000):
        recorder.read((f"a{n}", n, b"data"))
    return recorder, writer


def test_the_loop_packs_slice_after_slice_and_serves_others_in_between(tmp_path: Path) -> None:
    recorder, writer = captured(tmp_path)
    served: list[int] = []

    async def drive() -> None:
        turns = PackingTurns(recorder)
        turns.start()
        while recorder.unpacked_reads >= 128:
            served.append(recorder.unpacked_reads)
            await asyncio.sleep(0)
        turns.close()

    uvloop.run(drive())

    # Slices of 256: 1000, 744, 488 and 232 rows wait in turn, and others had the loop at each of them.
    assert sorted(set(served), reverse=True) == [1000, 744, 488, 232]
    assert recorder.unpacked_reads == 0
    (report, *_) = [r for r in writer.close() if r.stream == WIRE_STREAM]
    assert report.rows_written == 1000
    assert segment_files(tmp_path, WIRE_STREAM)


def test_nothing_is_packed_once_the_turns_are_over(tmp_path: Path) -> None:
    recorder, _ = captured(tmp_path)

    async def drive() -> None:
        turns = PackingTurns(recorder)
        turns.start()
        turns.close()
        await asyncio.sleep(0.02)  # five turns

    uvloop.run(drive())

    assert recorder.unpacked_reads == 1000
