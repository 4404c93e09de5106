"""From body bytes with arrival times to what a reply said, and when.

An event's time is that of the read that completed it. Content events are those with a non-empty answer,
reasoning, tool-call or refusal delta. Chunk boundaries are not token boundaries: tokens of a chunk come from
token ids, or from usage counts that grow with every content event, and are None otherwise.
"""

import json
from dataclasses import dataclass
from typing import Any

from assay.analysis.wire import content
from assay.analysis.wire.content import Payload, read_payload
from assay.analysis.wire.sse import EventStream, ServerSentEvent

_DONE = "[DONE]"
_decode = json.JSONDecoder().decode  # json.loads looks at its options for every event
_SNIFF_SKIP = b"\xef\xbb\xbf \t\r\n"
_WORDS_LIMIT = 500


@dataclass(slots=True)
class ToolCall:
    id: str | None = None
    name: str | None = None
    arguments: str = ""


class ReplyReader:
    """Reads one reply body: ``read`` per arrival, then ``end`` if (and only if) the body ended cleanly."""

    __slots__ = (
        "_answer",
        "_body",
        "_events",
        "_head",
        "_reasoning",
        "_tools",
        "_undecided",
        "_usage_before",
        "body_bytes",
        "cached_tokens",
        "chunk_times_ns",
        "chunk_tokens",
        "class_counts",
        "done_marker_ns",
        "error_ns",
        "error_words",
        "events",
        "finish",
        "finish_ns",
        "first_content_ns",
        "first_visible_ns",
        "last_read_ns",
        "problem",
        "prompt_ids",
        "prompt_tokens",
        "refusal_text",
        "token_ids",
        "usage_tokens",
    )

    def __init__(self) -> None:
        self._events: EventStream | None = None
        self._body: list[bytes] | None = None
        self._head = b""
        self._answer: dict[int, list[str]] = {}
        self._reasoning: dict[int, list[str]] = {}
        self._tools: dict[tuple[int, int], ToolCall] = {}
        self._undecided = b""  # blanks before the first telling byte
        self._usage_before: int | None = 0  # at the content event before; None: it carried no usage
        self.body_bytes = 0
        self.last_read_ns: int | None = None
        self.events = 0
        self.first_content_ns: int | None = None
        self.first_visible_ns: int | None = None
        self.done_marker_ns: int | None = None
        self.error_ns: int | None = None
        self.error_words: str | None = None
        self.finish: dict[int, str] = {}
        self.finish_ns: int | None = None
        self.chunk_times_ns: list[int] = []
        self.chunk_tokens: list[int | None] = []
        self.class_counts: dict[int, int] = {}
        self.token_ids: int | None = None
        self.usage_tokens: int | None = None
        self.prompt_tokens: int | None = None
        self.prompt_ids: int | None = None
        self.cached_tokens: int | None = None
        self.refusal_text = ""
        self.problem: str | None = None

    def read(self, t_ns: int, data: bytes) -> None:
        """Take body bytes that arrived at ``t_ns``."""
        if not data:
            return
        self.body_bytes += len(data)
        self.last_read_ns = t_ns
        if len(self._head) < _WORDS_LIMIT:
            self._head += data[:_WORDS_LIMIT]
        if self._events is None and self._body is None:
            data = self._undecided + data
            start = data.lstrip(_SNIFF_SKIP)[:1]
            if not start:
                self._undecided = data
                return
            if start in (b"{", b"["):
                self._body = []
            else:
                self._events = EventStream()
        if self._body is not None:
            self._body.append(data)
        elif self._events is not None:
            for event in self._events.feed(data):
                self._event(t_ns, event)

    def end(self) -> None:
        """The body ended cleanly: read a whole JSON reply, or an event that lacks its blank line.

        The standard drops such an event; here it is taken if its data are whole (``[DONE]`` or valid JSON),
        since a clean end shows that nothing more was coming.
        """
        t_ns = self.last_read_ns
        if t_ns is None:
            return
        if self._body is not None:
            self._whole(t_ns, b"".join(self._body))
        elif self._events is not None:
            event = self._events.pending()
            if event is not None and _is_whole(event.data):
                self._event(t_ns, event)

    def error_body(self) -> str:
        """The server's words in the body of an HTTP error response."""
        if self.error_words is not None:
            return self.error_words
        try:
            document = json.loads(b"".join(self._body or ()))
        except ValueError:
            return self._head[:_WORDS_LIMIT].decode("utf-8", "replace").strip()
        error = document.get("error") if isinstance(document, dict) else None
        return content.error_words(error if error else document)

    @property
    def last_content_ns(self) -> int | None:
        return self.chunk_times_ns[-1] if self.chunk_times_ns else None

    @property
    def text(self) -> str:
        """The answer of the first choice."""
        return _joined(self._answer)

    @property
    def reasoning_text(self) -> str:
        return _joined(self._reasoning)

    @property
    def tool_calls(self) -> list[ToolCall]:
        return [self._tools[key] for key in sorted(self._tools)]

    @property
    def finish_reason(self) -> str | None:
        """The finish reason of the first choice that gave one."""
        return self.finish[min(self.finish)] if self.finish else None

    def choices(self) -> dict[int, str]:
        """Answer text by choice index."""
        return {index: "".join(parts) for index, parts in sorted(self._answer.items())}

    def _event(self, t_ns: int, event: ServerSentEvent) -> None:
        self.events += 1
        data = event.data
        if data.strip() == _DONE:
            self._count(content.TERMINAL)
            if self.done_marker_ns is None:
                self.done_marker_ns = t_ns
            return
        try:
            document = _decode(data)
        except ValueError:
            self._unreadable(t_ns, event)
            return
        payload = read_payload(document)
        if event.type == "error" and payload.error is None:
            payload.error = content.error_words(document)
        self._take(t_ns, payload)

    def _unreadable(self, t_ns: int, event: ServerSentEvent) -> None:
        if event.type == "error":
            self._take(t_ns, Payload(classes=content.TERMINAL, error=event.data[:_WORDS_LIMIT]))
        elif event.data.strip() and event.type in ("", "message"):
            self._count(content.PROTOCOL)
            if self.problem is None:
                self.problem = f"event {self.events}: data is not JSON: {event.data[:80]!r}"
        else:
            self._count(content.PROTOCOL)

    def _whole(self, t_ns: int, raw: bytes) -> None:
        self.events += 1
        try:
            document = json.loads(raw)
        except ValueError as error:
            self.problem = f"body is not JSON: {error}"
            return
        self._take(t_ns, read_payload(document))

    def _take(self, t_ns: int, payload: Payload) -> None:
        self._count(payload.classes)
        if payload.error is not None:
            if self.error_ns is None:
                self.error_ns, self.error_words = t_ns, payload.error
            return
        if payload.token_ids is not None:
            self.token_ids = (self.token_ids or 0) + payload.token_ids
        if payload.prompt_token_ids is not None:
            self.prompt_ids = payload.prompt_token_ids
        reported = self._take_usage(payload.usage) if payload.usage is not None else None
        if payload.finish:
            self.finish.update(payload.finish)
            if self.finish_ns is None:
                self.finish_ns = t_ns
        if payload.classes & content.CONTENT:
            self._take_content(t_ns, payload, reported)

    def _take_content(self, t_ns: int, payload: Payload, reported: int | None) -> None:
        self.chunk_times_ns.append(t_ns)
        self.chunk_tokens.append(self._tokens_of(payload, reported))
        if self.first_content_ns is None:
            self.first_content_ns = t_ns
        if payload.answer:
            if self.first_visible_ns is None:
                self.first_visible_ns = t_ns
            for index, text in payload.answer.items():
                self._answer.setdefault(index, []).append(text)
        for index, text in payload.reasoning.items():
            self._reasoning.setdefault(index, []).append(text)
        self.refusal_text += payload.refusal
        for choice, delta in payload.tool_calls:
            call = self._tools.setdefault((choice, delta.index), ToolCall())
            call.id = call.id or delta.id
            call.name = call.name or delta.name
            call.arguments += delta.arguments

    def _tokens_of(self, payload: Payload, reported: int | None) -> int | None:
        """Tokens of a content event: its ids, else growth of usage since the content event before it."""
        before, self._usage_before = self._usage_before, reported
        if payload.token_ids is not None:
            return payload.token_ids
        if reported is None or before is None or reported <= before:
            return None
        return reported - before

    def _take_usage(self, usage: dict[str, Any]) -> int | None:
        completion = _count_in(usage, "completion_tokens", "output_tokens")
        if completion is not None:
            self.usage_tokens = completion
        prompt = _count_in(usage, "prompt_tokens", "input_tokens")
        if prompt is not None:
            self.prompt_tokens = prompt
        details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
        cached = _count_in(details, "cached_tokens") if isinstance(details, dict) else None
        if cached is not None:
            self.cached_tokens = cached
        return completion

    def _count(self, classes: int) -> None:
        self.class_counts[classes] = self.class_counts.get(classes, 0) + 1


def _count_in(usage: dict[str, Any], *names: str) -> int | None:
    for name in names:
        value = usage.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def _joined(parts: dict[int, list[str]]) -> str:
    return "".join(parts[min(parts)]) if parts else ""


def _is_whole(data: str) -> bool:
    if data.strip() == _DONE:
        return True
    try:
        json.loads(data)
    except ValueError:
        return False
    return True
