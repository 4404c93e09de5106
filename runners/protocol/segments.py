"""A stream of rows of a running execution: Arrow IPC messages appended to numbered segment files.

The hot path appends a tuple to a queue; ``packing`` makes messages of what waits there, and the writer
thread (``segment_writer``) puts them on disk. What was written survives the death of the process: a segment
is whole IPC messages one after another, and ``segment_reader`` takes back all of them. A power cut may lose
what the operating system had not yet put on disk.

Beyond its byte limit a stream keeps its head (the first half of the limit) and its tail (the last half, in
a ring of small segments). Segments are numbered without gaps and carry the number of the first row in
them, so that a reader knows exactly which rows were given up.
"""

import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from runners.protocol import clocks
from runners.protocol.packing import Packed, Packing, Row, Transform

END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"
SUFFIX = ".arrows"

_SLICE_BYTES = 256 * 2**10
_WRITE_BYTES = 2**20  # of one write: each costs a turn of the interpreter
_SEGMENT_BYTES = 64 * 2**20
_TAIL_SEGMENTS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEnd:
    """A stream that ended before it was closed: when, why, and what came too late to be kept."""

    t_ns: int
    reason: str
    rows_dropped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamReport:
    """What became of one stream. ``rows_given_up`` fell out of the middle at the byte limit."""

    stream: str
    worker: int
    rows_written: int
    rows_given_up: int
    bytes_written: int
    bytes_kept: int
    limit_bytes: int
    segments: tuple[str, ...]
    ended: StreamEnd | None


@dataclass(slots=True)
class _Segment:
    number: int
    path: Path
    descriptor: int
    first_row: int
    rows: int = 0
    bytes: int = 0


def segment_name(stream: str, worker: int, number: int) -> str:
    """``<stream>-<worker>-<number>.arrows``; the number is padded so that names sort in order."""
    return f"{stream}-{worker}-{number:06d}{SUFFIX}"


class SegmentStream:
    """One stream of rows. ``append(row)`` is for any thread; everything else belongs to the writer thread."""

    def __init__(
        self,
        folder: Path,
        name: str,
        schema: pa.Schema,
        *,
        worker: int,
        limit_bytes: int,
        transform: Transform | None = None,
    ) -> None:
        self.name = name
        self._schema = schema
        self._folder = folder
        self._worker = worker
        self._limit_bytes = limit_bytes
        self._head_bytes = limit_bytes // 2
        self._tail_segment_bytes = max(1, (limit_bytes // 2) // (_TAIL_SEGMENTS + 1))
        part_bytes = max(1, self._tail_segment_bytes // 8)
        self._write_bytes = min(_WRITE_BYTES, part_bytes)
        self._packing = Packing(
            schema, slice_bytes=min(_SLICE_BYTES, part_bytes), transform=transform
        )
        self.append: Callable[[Row], None] = self._packing.append
        self.pack_if_worth: Callable[[], bool] = self._packing.pack_if_worth
        self._head: list[_Segment] = []
        self._tail: deque[_Segment] = deque()
        self._open: _Segment | None = None
        self._in_tail = False
        self._next_number = 0
        self._rows_written = 0
        self._rows_given_up = 0
        self._bytes_written = 0
        self._end: tuple[int, str] | None = None
        self._rows_dropped = 0

    @property
    def waiting(self) -> int:
        """Rows appended and not yet packed."""
        return self._packing.waiting

    @property
    def has_ended(self) -> bool:
        return self._end is not None

    def drain(self) -> None:
        """Write what is waiting now (rows that arrive meanwhile are left for the next call)."""
        until = self._packing.position()
        while packed := self._packing.take(self._write_bytes, until=until):
            self._write([p for p in packed if p.problem is None])
            for broken in (p for p in packed if p.problem is not None):
                self._stop(str(broken.problem), broken.rows)

    def close(self) -> StreamReport:
        """Drain, mark the end of the stream and put it on disk."""
        self.drain()
        if self._end is None:
            try:
                if self._open is None:
                    self._begin_segment()
                self._finish_segment()
            except OSError as error:
                self._stop(f"{os.strerror(error.errno or 0)} (errno {error.errno})", 0)
        return self.report()

    def report(self) -> StreamReport:
        segments = [*self._head, *self._tail, *([self._open] if self._open else [])]
        end = self._end
        return StreamReport(
            stream=self.name,
            worker=self._worker,
            rows_written=self._rows_written,
            rows_given_up=self._rows_given_up,
            bytes_written=self._bytes_written,
            bytes_kept=sum(s.bytes for s in segments),
            limit_bytes=self._limit_bytes,
            segments=tuple(s.path.name for s in segments),
            ended=StreamEnd(t_ns=end[0], reason=end[1], rows_dropped=self._rows_dropped)
            if end
            else None,
        )

    def _write(self, packed: list[Packed]) -> None:
        rows = sum(p.rows for p in packed)
        if self._end is not None:
            self._rows_dropped += rows
            return
        if not rows:
            return
        messages = b"".join(p.message for p in packed)
        try:
            segment = self._segment_for(len(messages))
            self._put(segment, messages)
        except OSError as error:
            self._stop(f"{os.strerror(error.errno or 0)} (errno {error.errno})", rows)
            return
        segment.rows += rows
        self._rows_written += rows

    def _segment_for(self, size: int) -> _Segment:
        segment = self._open
        if segment is None:
            return self._begin_segment()
        after = segment.bytes + size + len(END_OF_STREAM)
        leaves_head = not self._in_tail and (
            sum(s.bytes for s in self._head) + after > self._head_bytes
        )
        room = self._tail_segment_bytes if self._in_tail else _SEGMENT_BYTES
        if not segment.rows or (not leaves_head and after <= room):
            return segment
        self._finish_segment()
        self._in_tail = self._in_tail or leaves_head
        while len(self._tail) >= _TAIL_SEGMENTS:
            oldest = self._tail.popleft()
            oldest.path.unlink()
            self._rows_given_up += oldest.rows
        return self._begin_segment()

    def _begin_segment(self) -> _Segment:
        number = self._next_number
        path = self._folder / segment_name(self.name, self._worker, number)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        self._next_number += 1
        segment = _Segment(
            number=number, path=path, descriptor=descriptor, first_row=self._rows_written
        )
        self._open = segment
        facts = {
            "assay.stream": self.name,
            "assay.worker": str(self._worker),
            "assay.number": str(number),
            "assay.first_row": str(segment.first_row),
            "assay.clock_domain": clocks.clock_domain(),
        }
        self._put(segment, self._schema.with_metadata(facts).serialize())
        return segment

    def _finish_segment(self) -> None:
        segment = self._open
        assert segment is not None
        self._put(segment, END_OF_STREAM)
        os.fsync(segment.descriptor)
        self._set_aside(segment)

    def _set_aside(self, segment: _Segment) -> None:
        os.close(segment.descriptor)
        self._open = None
        (self._tail if self._in_tail else self._head).append(segment)

    def _put(self, segment: _Segment, message: Any) -> None:
        view = memoryview(message).cast("B")
        done = 0
        try:
            while done < len(view):
                done += os.write(segment.descriptor, view[done:])
        except OSError:
            # Half a message would end the segment for readers: leave whole messages only.
            os.ftruncate(segment.descriptor, segment.bytes)
            raise
        segment.bytes += done
        self._bytes_written += done

    def _stop(self, reason: str, rows_dropped: int) -> None:
        self._end = self._end or (time.monotonic_ns(), reason)
        self._rows_dropped += rows_dropped
        if self._open is not None:
            self._set_aside(self._open)
