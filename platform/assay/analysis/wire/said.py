"""The words of a reply by choice: answer, reasoning, refusal and tool calls, joined as they come."""

import io
from collections.abc import Callable
from dataclasses import dataclass

from assay.analysis.wire.content import Payload
from assay.analysis.wire.json_text import whole_characters


@dataclass(frozen=True, slots=True)
class ToolCall:
    id: str | None
    name: str | None
    arguments: str


class _CallParts:
    __slots__ = ("arguments", "id", "name")

    def __init__(self) -> None:
        self.id: str | None = None
        self.name: str | None = None
        self.arguments = io.StringIO()


class Said:
    """Text goes into buffers, so that a reply of any number of pieces stays as small as its text."""

    __slots__ = ("_answers", "_calls", "_reasonings", "_refusal")

    def __init__(self) -> None:
        self._answers: dict[int, io.StringIO] = {}
        self._reasonings: dict[int, io.StringIO] = {}
        self._refusal: io.StringIO | None = None
        self._calls: dict[tuple[int, int], _CallParts] = {}

    def take(self, payload: Payload) -> None:
        """Take one payload's words."""
        for index, text in (payload.answer or {}).items():
            self.add_answer(index, text)
        for index, text in (payload.reasoning or {}).items():
            self.add_reasoning(index, text)
        if payload.refusal:
            self._refusal = self._refusal or io.StringIO()
            self._refusal.write(payload.refusal)
        for choice, delta in payload.tool_calls or ():
            call = self._calls.setdefault((choice, delta.index), _CallParts())
            call.id = call.id or delta.id
            call.name = call.name or delta.name
            call.arguments.write(delta.arguments)

    def add_answer(self, index: int, text: str) -> None:
        buffer = self._answers.get(index)
        if buffer is None:
            buffer = self._answers[index] = io.StringIO()
        buffer.write(text)

    def add_reasoning(self, index: int, text: str) -> None:
        buffer = self._reasonings.get(index)
        if buffer is None:
            buffer = self._reasonings[index] = io.StringIO()
        buffer.write(text)

    def writer(self, payload: Payload) -> Callable[[str], object]:
        """Where the words of payloads like this one go; it said one text, which was taken already."""
        if payload.answer is not None:
            return self._answers[next(iter(payload.answer))].write
        return self._reasonings[next(iter(payload.reasoning or ()))].write

    def answer(self) -> str:
        answers = self.answers()
        return answers[min(answers)] if answers else ""

    def reasoning(self) -> str:
        thoughts = _texts(self._reasonings)
        return thoughts[min(thoughts)] if thoughts else ""

    def refusal(self) -> str:
        return whole_characters(self._refusal.getvalue()) if self._refusal is not None else ""

    def answers(self) -> dict[int, str]:
        return _texts(self._answers)

    def texts(self) -> list[str]:
        """Every text, each choice apart."""
        texts = [*_texts(self._reasonings).values(), *self.answers().values(), self.refusal()]
        return [text for text in texts if text]

    def tool_calls(self) -> list[ToolCall]:
        return [
            ToolCall(
                id=None if call.id is None else whole_characters(call.id),
                name=None if call.name is None else whole_characters(call.name),
                arguments=whole_characters(call.arguments.getvalue()),
            )
            for _, call in sorted(self._calls.items())
        ]


def _texts(buffers: dict[int, io.StringIO]) -> dict[int, str]:
    return {index: whole_characters(b.getvalue()) for index, b in sorted(buffers.items())}
