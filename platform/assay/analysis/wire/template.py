"""The ordinary delta chunk, known again by its bytes.

Most payloads of a stream differ from the one before in one string, perhaps a list of token ids, and perhaps
the time at which the server wrote them. A payload that was read in full becomes a template: the bytes around
these places. A later payload with the same bytes around them says the same but for them, and is read without
parsing. Anything else, an escape in the string included, goes the full way, so that both ways give the same
answers.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
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


@dataclass(frozen=True, slots=True)
class Likes:
    """Events of one data line that stand together, as a template reads them: one entry for each.

    A text is empty where only the bytes around the template's places are alike. ``ids`` counts them, and is
    None without any. ``between`` is what stands between the bytes around, one event a line.
    """

    texts: list[str]
    ids: list[int] | None
    between: bytes
    around: tuple[bytes, bytes]

    def raw(self, number: int) -> bytes:
        """The payload of one event, whole."""
        before, after = self.around
        return before + self.between.split(b"\n", number + 1)[number] + after

    def size(self, count: int) -> int:
        """How many bytes of the stream the first so many events take."""
        own = self.between
        if count < len(self.texts):
            own = b"\n".join(own.split(b"\n", count)[:count])
        around = sum(map(len, self.around)) + len(_LINE) + len(_BLANK)
        return len(own) - (count - 1) + count * around if count else 0


class DeltaTemplate:
    """Bytes around the text and the ids of one delta.

    ``of_event`` looks at a payload, ``of_read`` at the bytes of a read that holds one whole event of one data
    line. Both give ``(text, ids or None)``, or None for anything else. ``of_run`` looks at many such events.
    """

    __slots__ = (
        "_between",
        "_has_ids",
        "_hole",
        "_holes",
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
        between = (raw[one[1] : other[0]] for one, other in pairwise(places))
        one, many = _patterns(tuple(hole for _, _, hole in places), tuple(between))
        self._hole, self._holes = one.fullmatch, many.findall
        self._between = self._line_suffix + self._line_prefix
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

    def of_run(self, data: bytes, start: int, stop: int) -> Likes | None:
        """The events that are alike from one place in the stream on, as far as they lie together.

        ``data`` are whole events; from ``start`` begins one. None if that is another.
        """
        lines = self._lines(data, start, stop)
        if lines is None:
            return None
        found = self._holes(lines)
        try:
            # Each by itself: a character that is split over two of them is none.
            if not self._has_ids:
                texts, ids = [text.decode() for text in found], None
            else:
                place = self._text_group - 1
                texts = [entry[place].decode() for entry in found]
                ids = [_count(entry[1 - place]) for entry in found]
        except UnicodeDecodeError:
            return None
        return Likes(texts, ids, lines, (self._prefix, self._suffix))

    def _lines(self, data: bytes, start: int, stop: int) -> bytes | None:
        """What stands between prefix and suffix of each of these events, one a line."""
        if not data.startswith(self._line_prefix, start) or data.find(b"\0", start, stop) >= 0:
            return None
        marked = data[start + len(self._line_prefix) : stop].replace(self._between, b"\0")
        end = marked.find(_BLANK)
        if end >= 0 and marked.endswith(self._suffix, 0, end):
            whole = end - len(self._suffix)
        else:
            whole = marked.rfind(b"\0", 0, end if end >= 0 else len(marked))
        stray = marked.find(b"\n", 0, max(whole, 0))
        if stray >= 0:  # several lines of one event
            whole = marked.rfind(b"\0", 0, stray)
        return None if whole < 0 else marked[:whole].replace(b"\0", b"\n")

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
            return text.decode(), _count(ids)
        except UnicodeDecodeError:
            return None


@lru_cache(maxsize=256)
def _patterns(
    holes: tuple[bytes, ...], between: tuple[bytes, ...]
) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Of one event, and of lines of which each is one or is not. Servers have few forms."""
    pattern = holes[0]
    for fixed, hole in zip(between, holes[1:], strict=True):
        pattern += re.escape(fixed) + hole
    return re.compile(pattern), re.compile(rb"^(?:" + pattern + rb"|.*)$", re.MULTILINE)


def _count(ids: bytes) -> int:
    return ids.count(b",") + 1 if ids else 0


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
