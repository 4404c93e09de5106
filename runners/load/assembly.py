"""Messages of a request that holds replies of the running load, made whole when those have ended."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runners.load.replies import Reply
from runners.protocol.answer_form import call_in_fields, call_in_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A reply, and the tool call that is filled back after it. ``call_source``: reply | scripted | none."""

    reply: Reply
    call: Mapping[str, Any] | None = None
    call_source: str | None = None
    detail: str | None = None

    @property
    def call_text(self) -> str:
        """The assistant's words of a text call: the reply itself if it held the call."""
        if self.call_source == "reply":
            return self.reply.text
        return json.dumps(self.call, sort_keys=True)


def hear(reply: Reply, on_reply: Mapping[str, Any] | None) -> Heard:
    """The reply and what it is used for: a tool step's call, or its declared stand-in."""
    if on_reply is None or on_reply["use"] != "tool_call":
        return Heard(reply=reply)
    if on_reply["sent_as"] == "tools":
        call = call_in_fields(reply.tool_calls, on_reply["names"])
    else:
        call = call_in_text(reply.text, on_reply["names"])
    if call is not None:
        return Heard(reply=reply, call=call, call_source="reply")
    detail = "the reply holds no call of a declared tool that can be parsed"
    if on_reply["scripted"] is None:
        return Heard(reply=reply, call_source="none", detail=detail)
    return Heard(reply=reply, call=on_reply["scripted"], call_source="scripted", detail=detail)


def needs_replies(messages: str) -> bool:
    """Whether these messages (canonical JSON) have places for replies."""
    return '"of":' in messages and any(_placeholders(json.loads(messages)))


def filled(messages: str, heard: Sequence[Heard | None]) -> list[dict[str, Any]]:
    """The messages with each place filled from ``heard``, by position; without a reply it stays empty."""
    found: list[dict[str, Any]] = _fill(json.loads(messages), heard)
    return found


def _placeholders(node: Any) -> list[Any]:
    if isinstance(node, list):
        return [p for item in node for p in _placeholders(item)]
    if isinstance(node, dict):
        if set(node) == {"type", "of"}:
            return [node]
        return [p for item in node.values() for p in _placeholders(item)]
    return []


def _fill(node: Any, heard: Sequence[Heard | None]) -> Any:
    if isinstance(node, list):
        items = [_fill(item, heard) for item in node]
        was_place = any(isinstance(i, dict) and set(i) == {"type", "of"} for i in node)
        if was_place and all(isinstance(i, dict) and i.get("type") == "text" for i in items):
            return "".join(i["text"] for i in items)
        return items
    if not isinstance(node, dict):
        return node
    if set(node) == {"type", "of"}:
        return _value(str(node["type"]), heard[int(node["of"])])
    return {key: _fill(value, heard) for key, value in node.items()}


def _value(kind: str, heard: Heard | None) -> Any:
    if kind == "reply":
        return {"type": "text", "text": heard.reply.text if heard else ""}
    call = None if heard is None else heard.call
    assert heard is not None, "a tool's result follows a reply"
    assert call is not None, "a tool's result follows a call"
    if kind == "call":
        return {"type": "text", "text": heard.call_text}
    call_id = call.get("id") or "call_0"
    if kind == "call_id":
        return call_id
    function = {"name": call["name"], "arguments": json.dumps(call["arguments"])}
    return [{"id": call_id, "type": "function", "function": function}]
