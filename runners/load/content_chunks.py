"""Count content chunks of a streamed answer while it arrives; only for attempts that cancel after so many."""

import json
from typing import Any

_TEXT_FIELDS = ("content", "reasoning_content", "reasoning", "refusal")
_BLOCK_FIELDS = ("text", "thinking", "partial_json")
_TYPED_DELTAS = (
    ".output_text.delta",
    ".reasoning_text.delta",
    ".reasoning_summary_text.delta",
    ".refusal.delta",
    ".function_call_arguments.delta",
)
# the event that names a tool call -> the member that holds the call
_CALL_STARTS = {"response.output_item.added": "item", "content_block_start": "content_block"}
_CALLS = ("function_call", "tool_use")


class ContentChunkCounter:
    """Feed body bytes (after HTTP de-chunking), read ``count``.

    A content chunk is an event with a non-empty answer, reasoning, tool-call or refusal delta of chat,
    completions, Responses or Messages; role-only, usage and ``[DONE]`` events are none. Lines may end in
    LF, CRLF or CR and be cut anywhere.
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
    except (ValueError, RecursionError):
        return False
    if not isinstance(event, dict):
        return False
    kind = event.get("type")
    if isinstance(kind, str):
        return _is_typed_content(kind, event)
    choices = event.get("choices")
    return isinstance(choices, list) and any(_has_delta(c) for c in choices)


def _is_typed_content(kind: str, event: dict[str, Any]) -> bool:
    """Of the two dialects that type their events: Responses (``response.*.delta``) and Messages."""
    if kind.endswith(_TYPED_DELTAS):
        return bool(event.get("delta"))
    part = event.get(_CALL_STARTS.get(kind, "delta"))
    if not isinstance(part, dict):
        return False
    if kind in _CALL_STARTS:
        return part.get("type") in _CALLS
    return kind == "content_block_delta" and any(part.get(name) for name in _BLOCK_FIELDS)


def _has_delta(choice: Any) -> bool:
    if not isinstance(choice, dict):
        return False
    delta = choice.get("delta")
    if isinstance(delta, dict):
        return bool(delta.get("tool_calls")) or any(delta.get(f) for f in _TEXT_FIELDS)
    return bool(choice.get("text"))
