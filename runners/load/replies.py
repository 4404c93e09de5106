"""What a reply of the running load said, read once it has ended, for those requests whose reply is needed.

The raw reads are kept beside the recorded ones and taken apart after the end of the attempt, never while
events arrive. This reading serves the next request only; the interpretation reads the bundle's own bytes.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import httptools

Row = tuple[str, int, bytes]


class KeptReads:
    """The reads of one attempt. ``through(record)`` records a read and keeps it."""

    __slots__ = ("_reads",)

    def __init__(self) -> None:
        self._reads: list[bytes] = []

    def through(self, record: Callable[[Row], None]) -> Callable[[Row], None]:
        keep = self._reads.append

        def read(row: Row) -> None:
            record(row)
            keep(row[2])

        return read

    def reply(self) -> "Reply":
        return read_reply(self._reads)


@dataclass(slots=True, kw_only=True)
class Reply:
    """``error``: why this is no whole reply. Tool calls are those of the API's own field."""

    text: str = ""
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    error: str | None = None


def read_reply(reads: Sequence[bytes]) -> Reply:
    """The reply in raw HTTP bytes: an SSE stream or a whole JSON body."""
    body = _Body()
    parser = httptools.HttpResponseParser(body)
    try:
        for data in reads:
            parser.feed_data(data)
    except httptools.HttpParserError as error:
        return Reply(error=f"not HTTP: {error}")
    raw = b"".join(body.parts)
    found = Reply()
    texts: list[str] = []
    for document in _documents(raw):
        _take(document, found, texts)
    found.text = "".join(texts)
    return found


class _Body:
    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def on_body(self, data: bytes) -> None:
        self.parts.append(data)


def _documents(raw: bytes) -> Iterator[Any]:
    text = raw.decode("utf-8", "replace").removeprefix("\ufeff").lstrip()
    if text.startswith(("{", "[")):
        yield _json(text)
        return
    data: list[str] = []
    # A stream that was cut has no last blank line; its whole data are taken, torn ones are no JSON.
    for line in [*text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), ""]:
        name, _, value = line.partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))
        elif not line and data:
            yield _json("\n".join(data))
            data.clear()


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None  # [DONE], a comment, a torn event


def _take(document: Any, found: Reply, texts: list[str]) -> None:
    if not isinstance(document, dict):
        return
    if document.get("error"):
        found.error = f"error event: {str(document['error'])[:200]}"
        return
    choices = document.get("choices")
    for choice in choices[:1] if isinstance(choices, list) else ():
        said = choice.get("delta") or choice.get("message") or {}
        content = said.get("content") or choice.get("text")
        if isinstance(content, str):
            texts.append(content)
        for position, call in enumerate(said.get("tool_calls") or ()):
            _take_call(call, position, found.tool_calls)


def _take_call(delta: dict[str, Any], position: int, calls: list[dict[str, Any]]) -> None:
    index = delta.get("index", position)
    while len(calls) <= index:
        calls.append({"id": None, "name": None, "arguments": ""})
    call, function = calls[index], delta.get("function") or {}
    call["id"] = call["id"] or delta.get("id")
    call["name"] = call["name"] or function.get("name")
    call["arguments"] += function.get("arguments") or ""
