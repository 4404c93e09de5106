"""Content classes, and what one payload of a reply said, whatever the dialect it came in.

Five classes, not exclusive (one payload may carry several): protocol, reasoning, answer, tool call and
terminal (finish reason, usage). A refusal is content of the answer side but no visible answer.
"""

from dataclasses import dataclass
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
_MOST_NESTED = 20  # an error inside an error: deeper than any server goes


@dataclass(slots=True)
class ToolCallDelta:
    index: int
    id: str | None
    name: str | None
    arguments: str


@dataclass(slots=True)
class Usage:
    """Token counts as the server reported them, None where not. Cached tokens are part of the prompt."""

    completion: int | None = None
    prompt: int | None = None
    cached: int | None = None
    reasoning: int | None = None


@dataclass(slots=True)
class Payload:
    """What one payload said. ``answer``, ``reasoning`` and ``finish`` are by choice index; None is nothing.

    ``finish`` holds the server's own word. ``ends`` marks the event by which the dialect itself says that the
    stream is over (``[DONE]`` apart).
    """

    classes: int = 0
    answer: dict[int, str] | None = None
    reasoning: dict[int, str] | None = None
    refusal: str = ""
    tool_calls: list[tuple[int, ToolCallDelta]] | None = None
    finish: dict[int, str] | None = None
    finish_words: str | None = None
    ends: bool = False
    token_ids: int | None = None
    prompt_token_ids: int | None = None
    usage: Usage | None = None
    error: str | None = None
    error_type: str | None = None

    def add_answer(self, index: int, text: str) -> None:
        self.answer = _added(self.answer, index, text)
        self.classes |= ANSWER

    def add_reasoning(self, index: int, text: str) -> None:
        self.reasoning = _added(self.reasoning, index, text)
        self.classes |= REASONING

    def add_refusal(self, text: str) -> None:
        self.refusal += text
        self.classes |= REFUSAL

    def add_tool_call(self, choice: int, delta: ToolCallDelta) -> None:
        self.tool_calls = [*(self.tool_calls or ()), (choice, delta)]
        self.classes |= TOOL_CALL

    def add_finish(self, index: int, word: str) -> None:
        self.finish = {**(self.finish or {}), index: word}
        self.classes |= TERMINAL

    def add_usage(self, usage: Usage) -> None:
        self.usage = usage
        self.classes |= TERMINAL


def error_payload(document: dict[str, Any]) -> Payload | None:
    """An error event or body of any of the shapes in use, or None.

    A true ``error`` member, or an object that calls itself an error, is one whatever the HTTP status was.
    """
    error = document.get("error")
    if not error:
        if "error" not in (document.get("object"), document.get("type")):
            return None
        error = document
    return Payload(classes=TERMINAL, error=error_words(error), error_type=error_type(error))


def error_words(error: Any, depth: int = 0) -> str:
    """The server's own words out of an error value of any of the shapes in use."""
    if depth > _MOST_NESTED:
        return "error nested too deeply"
    if isinstance(error, dict):
        for name in ("message", "detail", "msg", "error"):
            if error.get(name):
                return error_words(error[name], depth + 1)
        return str(error.get("type") or error.get("code") or "error without a message")
    if isinstance(error, list):
        return "; ".join(error_words(part, depth + 1) for part in error)
    return str(error)


def error_type(error: Any) -> str | None:
    """What kind of error the server itself calls it: its type, code and status, joined by blanks."""
    for _ in range(_MOST_NESTED):
        inner = error.get("error") if isinstance(error, dict) else None
        if not isinstance(inner, dict):
            break
        error = inner
    if not isinstance(error, dict):
        return None
    named = [error.get(name) for name in ("type", "code", "status")]
    words = [str(n) for n in named if isinstance(n, str | int) and not isinstance(n, bool)]
    return " ".join(words) or None


def count_in(document: Any, *names: str) -> int | None:
    """The first of these members that is a whole number of tokens (0 or more)."""
    if not isinstance(document, dict):
        return None
    for name in names:
        value = document.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63:
            return value
    return None


def text_of(value: Any, depth: int = 0) -> str:
    """Text of a content value: a string, or a list of parts with text."""
    if isinstance(value, str):
        return value
    if depth > _MOST_NESTED:
        return ""
    if isinstance(value, list):
        return "".join(text_of(part, depth + 1) for part in value)
    if isinstance(value, dict):
        return text_of(value.get("text"), depth + 1)
    return ""


def whole_number(value: Any, otherwise: int) -> int:
    """An index of the payload; a server that gives none, or nonsense, means ``otherwise``."""
    usable = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
    return value if usable else otherwise


def _added(known: dict[int, str] | None, index: int, text: str) -> dict[int, str]:
    if known is None:
        return {index: text}
    known[index] = known.get(index, "") + text
    return known
