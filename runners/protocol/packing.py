"""Rows that wait for the disk become Arrow IPC messages, a small slice at a time, in whichever thread asks.

Packing holds the interpreter. Done by the writer thread while an event loop is busy, it would take the
interpreter from the loop at every one of its callbacks, for tens of milliseconds in all; done by the loop
itself, a slice at a time, it costs the loop the slice and nothing more.
"""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

Row = tuple[Any, ...]
Rows = list[Row]
Transform = Callable[[Rows], Rows]

# A slice: about 0.3 ms of held interpreter, whatever the width of its rows.
_SLICE_ROWS = 256
_SLICE_CELLS = 3072


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """``rows`` rows as one message; ``problem`` says why there is no message of them.

    ``position`` is how many rows of the stream were appended up to here.
    """

    rows: int
    position: int
    message: bytes | memoryview = b""
    problem: str | None = None


class Packing:
    """The rows of one stream that wait, and the messages that were made of them, both in order."""

    def __init__(
        self, schema: pa.Schema, *, slice_bytes: int, transform: Transform | None = None
    ) -> None:
        self._schema = schema
        self._slice_bytes = slice_bytes
        self._slice_rows = min(_SLICE_ROWS, _SLICE_CELLS // len(schema) + 1)
        # A message costs as much as so many rows: fewer are left for later.
        self._worth_rows = self._slice_rows // 2
        self._transform = transform
        # The last variable-length column is the payload by which a slice is cut.
        sized = [i for i, f in enumerate(schema) if pa.types.is_binary(f.type)]
        self._payload = sized[-1] if sized else None
        self._rows: deque[Row] = deque()
        self._packed: deque[Packed] = deque()
        self._one_at_a_time = threading.Lock()
        self._position = self._taken = 0  # rows that were cut, and of them those that were taken
        self.append: Callable[[Row], None] = self._rows.append

    @property
    def waiting(self) -> int:
        """Rows appended and not yet packed."""
        return len(self._rows)

    def pack_if_worth(self) -> bool:
        """Pack a slice if enough rows wait and no other thread packs; whether more are left for another."""
        if len(self._rows) < self._worth_rows or not self._one_at_a_time.acquire(blocking=False):
            return False
        try:
            self._pack(len(self._rows))
        finally:
            self._one_at_a_time.release()
        return len(self._rows) >= self._worth_rows

    def position(self) -> int:
        """How many rows were appended so far."""
        with self._one_at_a_time:
            return self._position + len(self._rows)

    def take(self, most_bytes: int, *, until: int) -> list[Packed]:
        """The next messages, up to ``most_bytes`` or a little more, of rows before the position ``until``.

        Packs what is not packed yet. For one thread, the one that writes.
        """
        taken: list[Packed] = []
        while most_bytes > 0 and self._taken < until:
            if not self._packed:
                with self._one_at_a_time:
                    self._pack(until - self._position)
                continue
            packed = self._packed.popleft()
            self._taken = packed.position
            taken.append(packed)
            most_bytes -= len(packed.message)
        return taken

    def _pack(self, most_rows: int) -> None:
        rows = self._cut(min(most_rows, self._slice_rows, len(self._rows)))
        if not rows:
            return
        self._position += len(rows)
        try:
            kept = self._transform(rows) if self._transform else rows
            message = self._message(kept) if kept else b""
            packed = Packed(rows=len(kept), position=self._position, message=message)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            problem = f"a row does not fit the schema: {error}"
            packed = Packed(rows=len(rows), position=self._position, problem=problem)
        self._packed.append(packed)

    def _cut(self, most_rows: int) -> Rows:
        take, payload, left = self._rows.popleft, self._payload, self._slice_bytes
        if payload is None:
            return [take() for _ in range(most_rows)]
        rows: Rows = []
        for _ in range(most_rows):
            row = take()
            rows.append(row)
            if value := row[payload]:
                left -= len(value)
                if left <= 0:
                    break
        return rows

    def _message(self, rows: Rows) -> memoryview:
        columns = zip(*rows, strict=True)
        arrays = [pa.array(c, f.type) for c, f in zip(columns, self._schema, strict=True)]
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        return memoryview(batch.serialize()).cast("B")
