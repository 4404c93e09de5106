"""Server-sent events, incrementally: bytes in as they arrived, complete events out.

Source: WHATWG HTML, section 9.2.6 (CR, LF and CRLF end lines; comments; one optional blank after the colon;
several data lines joined by LF; a leading byte order mark). Bytes stay bytes until an event is complete, so
a character split over two reads is whole again. Cost is linear in the bytes, whatever the size of an event.
"""

from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"
_CR = 0x0D
_LF = 0x0A


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One dispatched event: its data and its type (empty when none was given)."""

    data: str
    type: str = ""


class EventStream:
    """A push parser: ``feed`` returns the events that these bytes completed, in order.

    A line that ends in CR is complete with that CR; an LF that opens the next read belongs to it.
    """

    __slots__ = ("_at_start", "_data", "_line", "_skip_lf", "_type", "comments")

    def __init__(self) -> None:
        self._line: list[bytes] = []  # pieces of the line that is not yet complete
        self._data: list[bytes] = []  # data lines of the event that is not yet complete
        self._type = ""
        self._skip_lf = False
        self._at_start = True
        self.comments = 0

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Take the next bytes of the stream; any split of the same bytes yields the same events."""
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
        if not line:
            if self._data:
                text = b"\n".join(self._data).decode("utf-8", "replace")
                events.append(ServerSentEvent(text, self._type))
                self._data = []
            self._type = ""
            return
        if line[0] == 0x3A:  # ":"
            self.comments += 1
            return
        name, _, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._type = value.decode("utf-8", "replace")
