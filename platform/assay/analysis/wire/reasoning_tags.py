"""Reasoning that a server left inside the answer, between tags that the declaration names.

Only declared tags are looked for: an answer may speak of ``<think>`` without thinking. A tag may be split
over chunks; what could still become one is held until it is decided. A chunk that held nothing but a tag
carried generated tokens: it is a content event of the reasoning, without text.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from assay.analysis.wire.content import ANSWER, REASONING, Payload


class _Reader(Protocol):
    def read(self, document: dict[str, Any]) -> Payload: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningTags:
    """``starts_inside``: the prompt already holds the opening tag, as some chat templates have it."""

    opens: str
    closes: str
    starts_inside: bool = False

    @classmethod
    def of(cls, *, opens: str, closes: str) -> "ReasoningTags":
        """As declared: without an opening tag, replies start inside their reasoning."""
        return cls(opens=opens or closes, closes=closes, starts_inside=not opens)


class TaggedReader:
    """A dialect's reader, with the declared tags taken out of its answers."""

    deltas_stand_alone = False

    def __init__(self, inner: _Reader, tags: ReasoningTags) -> None:
        self._inner = inner
        self._tags = tags
        self._splitters: dict[int, TagSplitter] = {}

    def read(self, document: dict[str, Any]) -> Payload:
        payload = self._inner.read(document)
        if payload.answer is None:
            return payload
        answers, payload.answer = payload.answer, None
        payload.classes &= ~ANSWER
        for index, text in answers.items():
            splitter = self._splitters.get(index)
            if splitter is None:
                splitter = self._splitters[index] = TagSplitter(self._tags)
            _put(payload, index, splitter.feed(text))
        if payload.answer is None and payload.reasoning is None:
            payload.classes |= REASONING
        return payload

    def rest(self) -> Payload:
        """What was held and, since nothing more comes, was no tag."""
        payload = Payload()
        for index, splitter in self._splitters.items():
            _put(payload, index, splitter.held)
        return payload


def _put(payload: Payload, index: int, settled: tuple[str, str]) -> None:
    thought, answer = settled
    if thought:
        payload.add_reasoning(index, thought)
    if answer:
        payload.add_answer(index, answer)


class TagSplitter:
    """Splits one choice's text into reasoning and answer; the tags themselves are in neither."""

    __slots__ = ("_held", "_inside", "_tags")

    def __init__(self, tags: ReasoningTags) -> None:
        self._tags = tags
        self._inside = tags.starts_inside
        self._held = ""

    def feed(self, text: str) -> tuple[str, str]:
        """``(reasoning, answer)`` that this text settles."""
        found: dict[bool, list[str]] = {True: [], False: []}
        text = self._held + text
        while True:
            tag = self._tags.closes if self._inside else self._tags.opens
            before, met, rest = text.partition(tag)
            if not met:
                break
            found[self._inside].append(before)
            self._inside = not self._inside
            text = rest
        cut = len(text) - _overlap(text, tag)
        found[self._inside].append(text[:cut])
        self._held = text[cut:]
        return "".join(found[True]), "".join(found[False])

    @property
    def held(self) -> tuple[str, str]:
        """``(reasoning, answer)`` of what is held: if nothing more comes, it was no tag."""
        return (self._held, "") if self._inside else ("", self._held)


def _overlap(text: str, tag: str) -> int:
    """Length of the longest end of ``text`` that begins ``tag``."""
    return next(
        (n for n in range(min(len(text), len(tag) - 1), 0, -1) if tag.startswith(text[-n:])), 0
    )
