"""What the client saw, handed to the segment writer: one row per socket read, and attempts as they go.

An attempt is written when it is created, when it is sent and when it ends, each time as a whole row; the
last row counts. So an attempt that was under way when the process died is known with all it had reached.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from runners.protocol import layout
from runners.protocol.packing import Transform
from runners.protocol.segment_reader import Conversion, segment_files, to_parquet
from runners.protocol.segment_writer import SegmentWriter
from runners.protocol.segments import SegmentStream
from runners.protocol.tables import ATTEMPTS, SENT_INPUTS, WIRE

ATTEMPTS_STREAM = "attempts"
WIRE_STREAM = "wire"
SENT_INPUTS_STREAM = "sent_inputs"


class Recorder:
    """``read(row)`` and ``attempt(row)`` only append to a queue; both are safe from any thread."""

    def __init__(self, writer: SegmentWriter, *, redact_wire: Transform | None = None) -> None:
        self._writer = writer
        self._sent_inputs: SegmentStream | None = None
        self._attempts: SegmentStream = writer.open(ATTEMPTS_STREAM, ATTEMPTS)
        self._wire: SegmentStream = writer.open(WIRE_STREAM, WIRE, transform=redact_wire)
        self.read: Callable[[tuple[str, int, bytes]], None] = self._wire.append
        self.attempt: Callable[[tuple[Any, ...]], None] = self._attempts.append

    def pack_if_worth(self) -> bool:
        """Pack a slice of what waits, for the event loop between two reads; whether more waits."""
        return self._wire.pack_if_worth() or self._attempts.pack_if_worth()

    def sent_inputs(self) -> Callable[[tuple[Any, ...]], None]:
        """Where bodies go that were made while the run went; the stream is opened by the first who asks."""
        if self._sent_inputs is None:
            self._sent_inputs = self._writer.open(SENT_INPUTS_STREAM, SENT_INPUTS)
        return self._sent_inputs.append

    @property
    def has_ended(self) -> bool:
        """A stream could not be written any more (disk full): going on would measure without a record."""
        return self._attempts.has_ended or self._wire.has_ended


def seal_attempts(segments: Path, bundle: Path) -> Conversion:
    """``attempts.parquet`` from the segments of all workers: the last row of each attempt."""
    return to_parquet(
        segments,
        ATTEMPTS_STREAM,
        bundle / layout.ATTEMPTS,
        ATTEMPTS,
        latest_by="attempt_id",
    )


def seal_wire(segments: Path, bundle: Path) -> list[Conversion]:
    """``wire/<worker>-0.parquet`` of each worker that left wire segments, reads in order of arrival."""
    workers = sorted({s.worker for s in segment_files(segments, WIRE_STREAM)})
    return [
        to_parquet(
            segments,
            WIRE_STREAM,
            bundle / layout.WIRE_FOLDER / f"{worker}-0.parquet",
            WIRE,
            worker=worker,
        )
        for worker in workers
    ]
