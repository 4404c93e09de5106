"""Count content chunks of a streamed answer while it arrives; only for attempts that cancel after so many."""

import json
from typing import Any

_TEXT_FIELDS = ("content", "reasoning_content", "reasoning", "refusal")


class ContentChunkCounter:
    """Feed body bytes (after HTTP de-chunking), read ``count``.

    A content chunk is an event with a non-empty answer, reasoning, tool-call or refusal delta; role-only,
    usage and ``[DONE]`` events are none. Lines may end in LF, CRLF or CR and be cut anywhere.
    """

    __slots__ = ("_data", "_rest", "_skip_lf", "count")

    def __init__(self) -> None:
        self.count = 0
        self._rest = b""
        self._data: list[bytes] = []
        self._skip_lf = False

    def feed(self, body: bytes) -> None:
        if self._skip_lf and body.startswith(b"\n"):
            body = body[1:]
        # A CR at the very end is a line end already; a LF that follows it belongs to it.
        self._skip_lf = body.endswith(b"\r")
        text = (self._rest + body).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, self._rest = text.split(b"\n")
        for line in lines:
            if line:
                self._take_line(line)
            elif self._data:
                self.count += is_content(b"\n".join(self._data))
                self._data.clear()

    def _take_line(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))


def is_content(data: bytes) -> bool:
    """Whether the data of one event carries a non-empty delta. Data that is no JSON object carries none."""
    try:
        event = json.loads(data)
    except ValueError:
        return False
    choices = event.get("choices") if isinstance(event, dict) else None
    return isinstance(choices, list) and any(_has_delta(c) for c in choices)


def _has_delta(choice: Any) -> bool:
    if not isinstance(choice, dict):
        return False
    delta = choice.get("delta")
    if isinstance(delta, dict):
        return bool(delta.get("tool_calls")) or any(delta.get(f) for f in _TEXT_FIELDS)
    return bool(choice.get("text"))
