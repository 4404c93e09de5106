"""The thread that puts the waiting rows of all streams into their segments, a few times a second."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa

from runners.protocol.errors import Finding, RunFailed
from runners.protocol.packing import Transform
from runners.protocol.segments import SegmentStream, StreamReport

MAX_FLUSH_INTERVAL_S = 1.0


class SegmentWriter:
    """The writer thread and its streams. Open streams first, then ``start``; ``close`` returns the reports.

    ``on_end`` is called once for a stream that ended early (disk full, a row that does not fit), on the
    writer thread.
    """

    def __init__(
        self,
        folder: Path,
        *,
        worker: int = 0,
        limit_bytes: int,
        interval_s: float = 0.5,
        limits: Mapping[str, int] | None = None,
        on_end: Callable[[StreamReport], None] | None = None,
    ) -> None:
        if not 0 < interval_s <= MAX_FLUSH_INTERVAL_S:
            raise RunFailed(
                Finding(
                    field="interval_s",
                    seen=str(interval_s),
                    allowed=f"above 0, at most {MAX_FLUSH_INTERVAL_S}",
                    remedy="Captured rows must reach the file at least once a second.",
                )
            )
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._worker = worker
        self._limit_bytes = limit_bytes
        self._limits = dict(limits or {})
        self._interval_s = interval_s
        self._on_end = on_end
        self._told: set[str] = set()
        self._streams: dict[str, SegmentStream] = {}
        self._wake = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="segment-writer", daemon=True)

    def open(
        self, name: str, schema: pa.Schema, *, transform: Transform | None = None
    ) -> SegmentStream:
        """A new stream. ``transform`` rewrites rows (redaction) before they are kept."""
        if name in self._streams:
            raise RunFailed(
                Finding(
                    field="stream",
                    seen=name,
                    allowed="a name not open yet",
                    remedy="Each stream has one writer.",
                )
            )
        stream = SegmentStream(
            self._folder,
            name,
            schema,
            worker=self._worker,
            limit_bytes=self._limits.get(name, self._limit_bytes),
            transform=transform,
        )
        self._streams = {**self._streams, name: stream}
        return stream

    def start(self) -> None:
        self._thread.start()

    def close(self) -> list[StreamReport]:
        """Stop the thread, write what is left and close every stream."""
        self._closing = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()
        reports = [stream.close() for stream in self._streams.values()]
        self._tell_of_ends()
        return reports

    def reports(self) -> list[StreamReport]:
        return [stream.report() for stream in self._streams.values()]

    def _work(self) -> None:
        while not self._closing:
            self._wake.wait(self._interval_s)
            for stream in self._streams.values():
                stream.drain()
            self._tell_of_ends()

    def _tell_of_ends(self) -> None:
        for name, stream in self._streams.items():
            if stream.has_ended and name not in self._told:
                self._told.add(name)
                if self._on_end is not None:
                    self._on_end(stream.report())
