"""Content classes of OpenAI-style chat and completions payloads, streamed or whole.

Five classes, not exclusive (one payload may carry several): protocol, reasoning, answer, tool call and
terminal (finish reason, usage). A refusal is content of the answer side but no visible answer.
Names differ between servers; the tables below are the only place that knows them.
"""

from dataclasses import dataclass, field
from typing import Any

PROTOCOL = 1  # role, empty deltas, keep-alives: no content
REASONING = 2
ANSWER = 4
TOOL_CALL = 8
TERMINAL = 16  # finish reason or usage
REFUSAL = 32

CONTENT = REASONING | ANSWER | TOOL_CALL | REFUSAL
CLASS_NAMES = {
    PROTOCOL: "protocol",
    REASONING: "reasoning",
    ANSWER: "answer",
    TOOL_CALL: "tool_call",
    TERMINAL: "terminal",
    REFUSAL: "refusal",
}
_REASONING_NAMES = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
_TOKEN_ID_NAMES = ("token_ids", "response_token_ids")


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    index: int
    id: str | None
    name: str | None
    arguments: str


@dataclass(slots=True)
class Payload:
    """What one payload said. ``answer`` and ``finish`` are by choice index; counts are sums over choices."""

    classes: int = 0
    answer: dict[int, str] = field(default_factory=dict)
    reasoning: dict[int, str] = field(default_factory=dict)
    refusal: str = ""
    tool_calls: list[tuple[int, ToolCallDelta]] = field(default_factory=list)
    finish: dict[int, str] = field(default_factory=dict)
    token_ids: int | None = None
    prompt_token_ids: int | None = None
    usage: dict[str, Any] | None = None
    error: str | None = None


def read_payload(document: Any) -> Payload:
    """Read one decoded JSON payload: a stream chunk or a whole reply.

    An ``error`` member that is not null, or an object that calls itself an error, is an error event whatever
    the HTTP status was. A payload without choices, usage or error is protocol.
    """
    found = Payload()
    if not isinstance(document, dict):
        found.classes = PROTOCOL
        return found
    error = document.get("error")
    if error or document.get("object") == "error":
        found.error = error_words(error if error else document)
        found.classes = TERMINAL
        return found
    choices = document.get("choices")
    if isinstance(choices, list):
        for choice in choices:
            if isinstance(choice, dict):
                _read_choice(choice, found)
    usage = document.get("usage")
    if isinstance(usage, dict):
        found.usage = usage
        found.classes |= TERMINAL
    prompt_ids = document.get("prompt_token_ids")
    if isinstance(prompt_ids, list):
        found.prompt_token_ids = len(prompt_ids)
    if not found.classes:
        found.classes = PROTOCOL
    return found


def error_words(error: Any) -> str:
    """The server's own words out of an error value of any of the shapes in use."""
    if isinstance(error, dict):
        for name in ("message", "detail", "msg", "error"):
            if error.get(name):
                return error_words(error[name])
        return str(error.get("type") or error.get("code") or "error without a message")
    if isinstance(error, list):
        return "; ".join(error_words(part) for part in error)
    return str(error)


def _read_choice(choice: dict[str, Any], found: Payload) -> None:
    index = choice.get("index")
    if not isinstance(index, int):
        index = 0
    body = choice.get("delta")
    if not isinstance(body, dict):
        body = choice.get("message")
    if isinstance(body, dict):
        _read_message(body, index, found)
    text = choice.get("text")
    if isinstance(text, str) and text:
        found.answer[index] = found.answer.get(index, "") + text
        found.classes |= ANSWER
    finish = choice.get("finish_reason")
    if isinstance(finish, str) and finish:
        found.finish[index] = finish
        found.classes |= TERMINAL
    for name in _TOKEN_ID_NAMES:
        ids = choice.get(name)
        if isinstance(ids, list):
            found.token_ids = (found.token_ids or 0) + len(ids)
            break
    prompt_ids = choice.get("prompt_token_ids")
    if isinstance(prompt_ids, list):
        found.prompt_token_ids = len(prompt_ids)


def _read_message(body: dict[str, Any], index: int, found: Payload) -> None:
    text = _text_of(body.get("content"))
    if text:
        found.answer[index] = text
        found.classes |= ANSWER
    for name in _REASONING_NAMES:
        # Some servers send the same words under two names: the first non-empty one counts.
        if name in body and (thought := _text_of(body[name])):
            found.reasoning[index] = thought
            found.classes |= REASONING
            break
    if refusal := body.get("refusal"):
        found.refusal = _text_of(refusal)
        found.classes |= REFUSAL if found.refusal else 0
    calls = body.get("tool_calls")
    if isinstance(calls, list):
        for position, call in enumerate(calls):
            _read_tool_call(call, position, index, found)
    if isinstance(legacy := body.get("function_call"), dict):
        _read_tool_call({"function": legacy}, 0, index, found)


def _read_tool_call(call: Any, position: int, choice: int, found: Payload) -> None:
    if not isinstance(call, dict):
        return
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    identity, name = call.get("id"), function.get("name")
    arguments = function.get("arguments")
    delta = ToolCallDelta(
        index=call["index"] if isinstance(call.get("index"), int) else position,
        id=identity if isinstance(identity, str) and identity else None,
        name=name if isinstance(name, str) and name else None,
        arguments=arguments if isinstance(arguments, str) else "",
    )
    if delta.id or delta.name or delta.arguments:
        found.tool_calls.append((choice, delta))
        found.classes |= TOOL_CALL


def _text_of(value: Any) -> str:
    """Text of a content value: a string, or a list of parts with text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_text_of(part) for part in value)
    if isinstance(value, dict):
        return _text_of(value.get("text"))
    return ""
