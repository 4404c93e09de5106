"""Anthropic Messages: events of content blocks, or the whole ``message`` object.

Source: Anthropic API, "Streaming messages". Prompt tokens are input plus what was read from and written to
the cache, since ``input_tokens`` leaves both out. The output count of ``message_start`` stands before
generation ends and is not taken; that of ``message_delta`` is cumulative. The stream ends with
``message_stop``.
"""

import json
from typing import Any

from assay.analysis.wire.content import (
    PROTOCOL,
    TERMINAL,
    Payload,
    ToolCallDelta,
    Usage,
    count_in,
    whole_number,
)

_EVENTS = frozenset(
    {
        "message_start",
        "message_delta",
        "message_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "ping",
    }
)


def recognises(document: dict[str, Any]) -> bool:
    kind = document.get("type")
    return isinstance(kind, str) and (
        kind in _EVENTS or (kind == "message" and isinstance(document.get("content"), list))
    )


class MessagesReader:
    """Everything goes to choice 0; tool calls are told apart by the index of their block."""

    deltas_stand_alone = True

    def read(self, document: dict[str, Any]) -> Payload:
        found = Payload()
        kind = document.get("type")
        if kind == "content_block_delta":
            _read_delta(document, found)
        elif kind == "content_block_start":
            _read_block(document.get("content_block"), _index(document), found)
        elif kind == "message_delta":
            _read_end(document.get("delta"), document.get("usage"), found)
        elif kind == "message_start":
            message = document.get("message")
            usage = message.get("usage") if isinstance(message, dict) else None
            if isinstance(usage, dict):
                found.usage = _usage({**usage, "output_tokens": None})
        elif kind == "message_stop":
            found.ends = True
            found.classes |= TERMINAL
        elif kind == "message":
            _read_message(document, found)
        if not found.classes:
            found.classes = PROTOCOL
        return found


def _index(document: dict[str, Any]) -> int:
    return whole_number(document.get("index"), 0)


def _read_delta(document: dict[str, Any], found: Payload) -> None:
    delta = document.get("delta")
    if not isinstance(delta, dict):
        return
    kind = delta.get("type")
    if kind == "text_delta" and isinstance(text := delta.get("text"), str) and text:
        found.add_answer(0, text)
    elif kind == "thinking_delta" and isinstance(text := delta.get("thinking"), str) and text:
        found.add_reasoning(0, text)
    elif kind == "input_json_delta" and isinstance(text := delta.get("partial_json"), str) and text:
        found.add_tool_call(0, ToolCallDelta(_index(document), None, None, text))


def _read_block(block: Any, index: int, found: Payload) -> None:
    if not isinstance(block, dict):
        return
    kind = block.get("type")
    if kind == "text" and isinstance(text := block.get("text"), str) and text:
        found.add_answer(0, text)
    elif kind == "thinking" and isinstance(text := block.get("thinking"), str) and text:
        found.add_reasoning(0, text)
    elif kind in ("tool_use", "server_tool_use"):
        identity, name, given = block.get("id"), block.get("name"), block.get("input")
        delta = ToolCallDelta(
            index,
            identity if isinstance(identity, str) and identity else None,
            name if isinstance(name, str) and name else None,
            json.dumps(given, ensure_ascii=False) if given else "",
        )
        if delta.id or delta.name or delta.arguments:
            found.add_tool_call(0, delta)


def _read_end(delta: Any, usage: Any, found: Payload) -> None:
    reason = delta.get("stop_reason") if isinstance(delta, dict) else None
    if isinstance(reason, str) and reason:
        found.add_finish(0, reason)
    if isinstance(usage, dict):
        found.add_usage(_usage(usage))


def _read_message(document: dict[str, Any], found: Payload) -> None:
    blocks = document.get("content")
    for index, block in enumerate(blocks if isinstance(blocks, list) else ()):
        _read_block(block, index, found)
    _read_end(document, document.get("usage"), found)


def _usage(usage: dict[str, Any]) -> Usage:
    fresh = count_in(usage, "input_tokens")
    read, written = (
        count_in(usage, "cache_read_input_tokens"),
        count_in(usage, "cache_creation_input_tokens"),
    )
    return Usage(
        completion=count_in(usage, "output_tokens"),
        prompt=None if fresh is None else fresh + (read or 0) + (written or 0),
        cached=read,
    )
