"""The token ids and logprobs of one reply, in order, out of its raw HTTP response."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from assay.analysis.wire.http import ResponseParser
from assay.analysis.wire.sse import EventStream

_DONE = "[DONE]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """By choice index. ``token_ids`` is None where a reply told none; empty logprobs were not told."""

    token_ids: Mapping[int, tuple[int, ...]] | None
    logprobs: Mapping[int, tuple[float, ...]]


def output_of(pieces: Iterable[bytes]) -> Output:
    """Reads of one whole response, in order. What cannot be read tells no ids."""
    parser = ResponseParser()
    body = b"".join(parser.feed(piece) for piece in pieces)
    ids: dict[int, list[int]] = {}
    logprobs: dict[int, list[float]] = {}
    told = False
    for document in _documents(parser, body):
        choices = document.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if not isinstance(choice, Mapping):
                continue
            index = choice["index"] if isinstance(choice.get("index"), int) else 0
            own = choice.get("token_ids")
            if isinstance(own, list) and all(isinstance(i, int) for i in own):
                told = True
                ids.setdefault(index, []).extend(own)
            logprobs.setdefault(index, []).extend(_logprobs(choice))
    return Output(
        token_ids={k: tuple(v) for k, v in ids.items()} if told else None,
        logprobs={k: tuple(v) for k, v in logprobs.items() if v},
    )


def _documents(parser: ResponseParser, body: bytes) -> Iterable[Mapping[str, Any]]:
    if "text/event-stream" in parser.headers.get("content-type", ""):
        texts = [event.data for event in EventStream().feed(body)]
    else:
        texts = [body.decode("utf-8", "replace")]
    for text in texts:
        if text.strip() == _DONE:
            continue
        try:
            found = json.loads(text)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found


def _logprobs(choice: Mapping[str, Any]) -> Iterable[float]:
    """Both forms in use: a list of objects (chat), or a list of numbers (completions)."""
    told = choice.get("logprobs")
    if not isinstance(told, Mapping):
        return
    for entry in told.get("content") or ():
        if isinstance(entry, Mapping) and isinstance(entry.get("logprob"), int | float):
            yield float(entry["logprob"])
    for number in told.get("token_logprobs") or ():
        if isinstance(number, int | float):
            yield float(number)
