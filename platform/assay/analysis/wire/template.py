"""The ordinary delta chunk, known again by its bytes.

Most payloads of a stream differ from the one before in one string, perhaps a list of token ids, and perhaps
the time at which the server wrote them. A payload that was read in full becomes a template: the bytes around
these places. A later payload with the same bytes around them says the same but for them, and is read without
parsing. Anything else, an escape in the string included, goes the full way, so that both ways give the same
answers.
"""

import re
from itertools import pairwise

_STRING = re.compile(
    rb'"(content|text|reasoning_content|reasoning|reasoning_text|thinking)":\s?"([^"\\\x00-\x1f]+)"'
)
_IDS = re.compile(rb'"(?:token_ids|response_token_ids)":\s?\[([^\]]*)\]')
_NUMBER = rb"(?:0|[1-9][0-9]{0,17})"
_IDS_HOLE = rb"((?:" + _NUMBER + rb"(?:, ?" + _NUMBER + rb")*)?)"
# A server's own time means nothing to the reader: long enough to be no count, under a name that is no index.
_STAMP = re.compile(
    rb'"(?:created|[a-z_]*(?:time|stamp|_ns|_us|_ms)[a-z_]*)":\s?([1-9][0-9]{9,18})[,}]'
)
_STAMP_HOLE = rb"[1-9][0-9]{9,18}"
_LINE, _BLANK = b"data: ", b"\n\n"
_STRING_HOLE = rb'([^"\\\x00-\x1f]+)'


class DeltaTemplate:
    """Bytes around the text and the ids of one delta.

    ``of_event`` looks at a payload, ``of_read`` at the bytes of a read that holds one whole event of one data
    line. Both give ``(text, ids or None)``, or None for anything else.
    """

    __slots__ = (
        "_has_ids",
        "_hole",
        "_line_prefix",
        "_line_suffix",
        "_prefix",
        "_suffix",
        "_text_group",
    )

    def __init__(self, raw: bytes, places: list[tuple[int, int, bytes]]) -> None:
        first, last = places[0], places[-1]
        self._prefix, self._suffix = raw[: first[0]], raw[last[1] :]
        self._line_prefix, self._line_suffix = _LINE + self._prefix, self._suffix + _BLANK
        pattern = first[2]
        for one, other in pairwise(places):
            pattern += re.escape(raw[one[1] : other[0]]) + other[2]
        self._hole = re.compile(pattern).fullmatch
        told = [hole for _, _, hole in places if hole is not _STAMP_HOLE]
        self._has_ids = len(told) == 2
        self._text_group = 1 if told[0] is _STRING_HOLE else 2

    def of_event(self, raw: bytes) -> tuple[str, int | None] | None:
        prefix, suffix = self._prefix, self._suffix
        if not (raw.startswith(prefix) and raw.endswith(suffix)):
            return None
        return self._read(raw, len(prefix), len(raw) - len(suffix))

    def of_read(self, data: bytes) -> tuple[str, int | None] | None:
        prefix, suffix = self._line_prefix, self._line_suffix
        if not (data.startswith(prefix) and data.endswith(suffix)):
            return None
        return self._read(data, len(prefix), len(data) - len(suffix))

    def _read(self, data: bytes, start: int, stop: int) -> tuple[str, int | None] | None:
        found = self._hole(data, start, stop)
        if found is None:
            return None
        try:
            if not self._has_ids:
                return found[1].decode(), None
            text, ids = found[1], found[2]
            if self._text_group == 2:
                text, ids = ids, text
            return text.decode(), ids.count(b",") + 1 if ids else 0
        except UnicodeDecodeError:
            return None


def template_of(raw: bytes, text: str, ids: int | None) -> DeltaTemplate | None:
    """The template of a payload that said exactly this text and so many ids; None if it has no such form."""
    strings = list(_STRING.finditer(raw))
    lists = list(_IDS.finditer(raw))
    if len(strings) != 1 or len(lists) != (0 if ids is None else 1) or b"\n" in raw:
        return None
    places = [(strings[0].start(2), strings[0].end(2), _STRING_HOLE)]
    places += [(found.start(1), found.end(1), _IDS_HOLE) for found in lists]
    places += [(found.start(1), found.end(1), _STAMP_HOLE) for found in _STAMP.finditer(raw)]
    made = DeltaTemplate(raw, sorted(places))
    return made if made.of_event(raw) == (text, ids) else None
