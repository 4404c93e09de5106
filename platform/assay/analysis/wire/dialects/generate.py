"""SGLang's native ``/generate``: text and ``output_ids`` beside ``meta_info``.

By default each event repeats everything so far; a server started for incremental output sends each piece
once. Which of the two it is shows with the ids (as many as ``completion_tokens`` are the whole), else with
the text (the whole begins with what came before). A finish reason is an object; that of an abort carries
words.
"""

from dataclasses import dataclass
from typing import Any

from assay.analysis.wire.content import PROTOCOL, Payload, Usage, count_in, whole_number


@dataclass(slots=True)
class _Said:
    """What one choice has said so far."""

    text: str = ""  # kept only while events repeat the whole
    ids: int = 0
    tokens: int = 0
    in_pieces: bool = False


def recognises(document: dict[str, Any]) -> bool:
    return isinstance(document.get("meta_info"), dict)


class GenerateReader:
    deltas_stand_alone = False  # an event is read against the one before it

    def __init__(self) -> None:
        self._said: dict[int, _Said] = {}

    def read(self, document: dict[str, Any]) -> Payload:
        found = Payload()
        meta = document.get("meta_info")
        meta = meta if isinstance(meta, dict) else {}
        index = whole_number(document.get("index"), 0)
        said = self._said.setdefault(index, _Said())
        tokens = count_in(meta, "completion_tokens")
        self._take_output(document, tokens, index, said, found)
        self._take_finish(meta, index, found)
        if tokens is not None:
            said.tokens = tokens
            found.usage = Usage(
                completion=sum(s.tokens for s in self._said.values()),
                prompt=count_in(meta, "prompt_tokens"),
                cached=count_in(meta, "cached_tokens"),
                reasoning=count_in(meta, "reasoning_tokens"),
            )
        if not found.classes:
            found.classes = PROTOCOL
        return found

    def _take_output(
        self, document: dict[str, Any], tokens: int | None, index: int, said: _Said, found: Payload
    ) -> None:
        text, ids = document.get("text"), document.get("output_ids")
        text = text if isinstance(text, str) else ""
        count = len(ids) if isinstance(ids, list) else None
        if not said.in_pieces:
            if count is not None and tokens is not None:
                said.in_pieces = count != tokens
            else:  # a character that had been incomplete is mended by the next whole text
                said.in_pieces = not text.startswith(said.text.rstrip("\ufffd"))
        if said.in_pieces:
            piece, new = text, count
        else:
            piece, new = text[len(said.text) :], None if count is None else count - said.ids
            said.text = text
        if piece:
            found.add_answer(index, piece)
        if new is not None and new >= 0:
            said.ids += new
            found.token_ids = new

    def _take_finish(self, meta: dict[str, Any], index: int, found: Payload) -> None:
        finish = meta.get("finish_reason")
        if isinstance(finish, dict):
            words = finish.get("message")
            found.finish_words = words if isinstance(words, str) and words else None
            finish = finish.get("type")
        if isinstance(finish, str) and finish:
            found.add_finish(index, finish)
