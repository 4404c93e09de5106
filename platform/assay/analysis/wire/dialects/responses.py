"""OpenAI Responses: typed events of output items, or the whole ``response`` object.

Source: OpenAI API reference, "Streaming events" of Responses. A ``done`` event repeats what its deltas said;
servers that send no deltas say it there for the first time, so what the deltas lacked is taken from it. The
stream ends with ``response.completed``, ``.incomplete`` or ``.failed``; there is no ``[DONE]``.
"""

from typing import Any

from assay.analysis.wire.content import (
    PROTOCOL,
    TERMINAL,
    Payload,
    ToolCallDelta,
    error_type,
    error_words,
    whole_number,
)
from assay.analysis.wire.dialects.choices import usage_of

_ANSWER, _REASONING, _REFUSAL, _ARGUMENTS = "answer", "reasoning", "refusal", "arguments"
# event family -> (what it carries, name of the whole text in its ``done`` event)
_TEXTS = {
    "output_text": (_ANSWER, "text"),
    "reasoning_text": (_REASONING, "text"),
    "reasoning_summary_text": (_REASONING, "text"),
    "reasoning": (_REASONING, "text"),
    "reasoning_summary": (_REASONING, "text"),
    "refusal": (_REFUSAL, "refusal"),
    "function_call_arguments": (_ARGUMENTS, "arguments"),
    "custom_tool_call_input": (_ARGUMENTS, "input"),
    "mcp_call_arguments": (_ARGUMENTS, "arguments"),
}
_PARTS = {
    "output_text": (_ANSWER, "text"),
    "refusal": (_REFUSAL, "refusal"),
    "reasoning_text": (_REASONING, "text"),
    "summary_text": (_REASONING, "text"),
}
_CALLS = ("function_call", "custom_tool_call", "mcp_call")
_ENDS = ("completed", "incomplete", "failed", "cancelled")


def recognises(document: dict[str, Any]) -> bool:
    kind = document.get("type")
    return (isinstance(kind, str) and kind.startswith("response.")) or (
        document.get("object") == "response"
    )


class ResponsesReader:
    """Everything goes to choice 0; tool calls are told apart by the index of their output item."""

    deltas_stand_alone = False  # what a ``done`` event adds depends on the deltas before it

    def __init__(self) -> None:
        self._said: dict[tuple[str, int, int, int], int] = {}  # characters seen, by place

    def read(self, document: dict[str, Any]) -> Payload:
        found = Payload()
        kind = document.get("type")
        if isinstance(kind, str) and kind.startswith("response."):
            self._event(kind.removeprefix("response."), document, found)
        elif document.get("object") == "response":
            self._response(document, found)
        if not found.classes:
            found.classes = PROTOCOL
        return found

    def _event(self, kind: str, document: dict[str, Any], found: Payload) -> None:
        family, _, step = kind.rpartition(".")
        if kind in _ENDS:
            response = document.get("response")
            self._response(response if isinstance(response, dict) else {"status": kind}, found)
            found.ends = True
            found.classes |= TERMINAL
        elif step == "delta" and family in _TEXTS:
            self._text(_TEXTS[family][0], family, document, document.get("delta"), found)
        elif step == "done" and family in _TEXTS:
            what, name = _TEXTS[family]
            self._rest(what, family, document, document.get(name), found)
        elif kind == "output_item.added" and isinstance(item := document.get("item"), dict):
            self._call(item, whole_number(document.get("output_index"), 0), found)

    def _text(
        self, what: str, family: str, place: dict[str, Any], text: Any, found: Payload
    ) -> None:
        if not isinstance(text, str) or not text:
            return
        key = _key(family, place)
        self._said[key] = self._said.get(key, 0) + len(text)
        if what == _ANSWER:
            found.add_answer(0, text)
        elif what == _REASONING:
            found.add_reasoning(0, text)
        elif what == _REFUSAL:
            found.add_refusal(text)
        else:
            found.add_tool_call(0, ToolCallDelta(key[1], None, None, text))

    def _rest(
        self, what: str, family: str, place: dict[str, Any], text: Any, found: Payload
    ) -> None:
        """What the whole text holds beyond the deltas."""
        if isinstance(text, str):
            self._text(what, family, place, text[self._said.get(_key(family, place), 0) :], found)

    def _call(self, item: dict[str, Any], index: int, found: Payload) -> None:
        if item.get("type") not in _CALLS:
            return
        identity = item.get("call_id") or item.get("id")
        name = item.get("name")
        delta = ToolCallDelta(
            index,
            identity if isinstance(identity, str) else None,
            name if isinstance(name, str) else None,
            "",
        )
        if delta.id or delta.name:
            found.add_tool_call(0, delta)

    def _response(self, response: dict[str, Any], found: Payload) -> None:
        """The whole response: at the end of a stream it adds usage and state, alone it is the reply."""
        if isinstance(output := response.get("output"), list) and not self._said:
            for index, item in enumerate(output):
                if isinstance(item, dict):
                    self._item(item, index, found)
        if isinstance(usage := response.get("usage"), dict):
            found.add_usage(usage_of(usage))
        status = response.get("status")
        if status == "failed":
            error = response.get("error") or "response failed"
            found.error, found.error_type = error_words(error), error_type(error)
            found.classes |= TERMINAL
        elif status in _ENDS:
            why = response.get("incomplete_details")
            reason = why.get("reason") if isinstance(why, dict) else None
            found.add_finish(0, reason if isinstance(reason, str) and reason else str(status))

    def _item(self, item: dict[str, Any], index: int, found: Payload) -> None:
        self._call(item, index, found)
        place = {"output_index": index}
        if item.get("type") in _CALLS:
            arguments = item.get("arguments") or item.get("input")
            self._rest(_ARGUMENTS, "function_call_arguments", place, arguments, found)
            return
        parts = [item.get("summary"), item.get("content")]
        for position, part in enumerate(p for g in parts if isinstance(g, list) for p in g):
            kind = part.get("type") if isinstance(part, dict) else None
            if isinstance(kind, str) and kind in _PARTS:
                what, name = _PARTS[kind]
                here = {**place, "content_index": position}
                self._rest(what, kind, here, part.get(name), found)


def _key(family: str, place: dict[str, Any]) -> tuple[str, int, int, int]:
    return (
        family,
        whole_number(place.get("output_index"), 0),
        whole_number(place.get("content_index"), 0),
        whole_number(place.get("summary_index"), 0),
    )
