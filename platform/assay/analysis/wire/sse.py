"""Server-sent events, incrementally: bytes in as they arrived, complete events out.

Source: WHATWG HTML, section 9.2.6 (CR, LF and CRLF end lines; comments; one optional blank after the colon;
several data lines joined by LF; ``event``, ``id`` and ``retry`` fields; a leading byte order mark). Bytes
stay bytes until an event is complete, so a character split over two reads is whole again. Cost is linear in
the bytes, whatever the size of an event and of the reads.
"""

from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"
_CR = 0x0D
_LF = 0x0A


@dataclass(slots=True, eq=True)
class ServerSentEvent:
    """One dispatched event: its data as bytes and its type (empty when none was given)."""

    raw: bytes
    type: str = ""

    @property
    def data(self) -> str:
        """The data as text; bytes that are no UTF-8 become replacement characters, as the standard says."""
        return self.raw.decode("utf-8", "replace")


class EventStream:
    """A push parser: ``feed`` returns the events that these bytes completed, in order.

    A line that ends in CR is complete with that CR; an LF that opens the next read belongs to it.
    ``last_id`` and ``retry_ms`` are what the stream last said (None until it did). ``busy`` is false between
    two events, when nothing is held.
    """

    __slots__ = (
        "_at_start",
        "_data",
        "_id",
        "_line",
        "_skip_lf",
        "_type",
        "busy",
        "comments",
        "last_id",
        "retry_ms",
    )

    def __init__(self) -> None:
        self._line: list[bytes] = []  # pieces of the line that is not yet complete
        self._data: list[bytes] = []  # data lines of the event that is not yet complete
        self._type = ""
        self._id: str | None = None  # takes effect with the blank line
        self._skip_lf = False
        self._at_start = True
        self.busy = True  # something is held, or the stream has not begun
        self.comments = 0
        self.last_id: str | None = None
        self.retry_ms: int | None = None

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Take the next bytes of the stream; any split of the same bytes yields the same events."""
        if not self.busy and data[:6] == b"data: " and data[-2:] == b"\n\n" and b"\r" not in data:
            blocks = data[6:-2].split(b"\n\ndata: ")
            if data.count(b"\n") == 2 * len(blocks):  # whole events of one data line each
                return [ServerSentEvent(block) for block in blocks]
        return self._feed(data)

    def _feed(self, data: bytes) -> list[ServerSentEvent]:
        if not data:
            return []
        if self._skip_lf:
            self._skip_lf = False
            if data[0] == _LF:
                data = data[1:]
        if self._at_start:
            data = self._after_bom(data)
        if b"\r" in data:
            self._skip_lf = data[-1] == _CR
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        first, newline, rest = data.partition(b"\n")
        if not newline:
            if first:
                self._line.append(first)
                self.busy = True
            return []
        if self._line:
            self._line.append(first)
            first = b"".join(self._line)
        events: list[ServerSentEvent] = []
        self._take(first, events)
        *lines, tail = rest.split(b"\n")
        for line in lines:
            self._take(line, events)
        self._line = [tail] if tail else []
        self.busy = bool(tail or self._data or self._type or self._skip_lf or self._id is not None)
        return events

    def pending(self) -> ServerSentEvent | None:
        """The event that the end of the stream cut off before its blank line, or None.

        The standard drops it. Whether a reader may take it depends on how the body ended and on whether
        its data are whole, so that decision is left to the caller.
        """
        events: list[ServerSentEvent] = []
        self._take(b"".join(self._line), events)
        self._line = []
        self._take(b"", events)
        return events[-1] if events else None

    def _after_bom(self, data: bytes) -> bytes:
        """Drop a leading byte order mark, which may itself be split over reads."""
        held = b"".join(self._line) + data
        self._line = []
        if len(held) < len(_BOM) and _BOM.startswith(held):
            self._line.append(held)
            return b""
        self._at_start = False
        return held.removeprefix(_BOM)

    def _take(self, line: bytes, events: list[ServerSentEvent]) -> None:
        if line[:6] == b"data: ":  # most lines of every stream
            self._data.append(line[6:])
        elif line:
            self._field(line)
        else:
            self._dispatch(events)

    def _dispatch(self, events: list[ServerSentEvent]) -> None:
        data = self._data
        if self._id is not None:
            self.last_id, self._id = self._id, None
        if data:
            raw = data[0] if len(data) == 1 else b"\n".join(data)
            events.append(ServerSentEvent(raw, self._type))
            self._data = []
        self._type = ""

    def _field(self, line: bytes) -> None:
        name, colon, value = line.partition(b":")
        if not name and colon:
            self.comments += 1
            return
        if value[:1] == b" ":
            value = value[1:]
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._type = value.decode("utf-8", "replace")
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) <= 18:
            self.retry_ms = int(value)
