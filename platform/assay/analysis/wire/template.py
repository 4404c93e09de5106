"""The ordinary delta chunk, known again by its bytes.

Most payloads of a stream differ from the one before in one string, perhaps a list of token ids, and perhaps
the time at which the server wrote them. A payload that was read in full becomes a template: the bytes around
these places. A later payload with the same bytes around them says the same but for them, and is read without
parsing. Anything else, an escape in the string included, goes the full way, so that both ways give the same
answers.
"""

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

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
_NAME = re.compile(rb'"id":\s?"([^"\\]*)"')  # of the reply, in its own words
_LINE, _BLANK = b"data: ", b"\n\n"
_STRING_HOLE = rb'([^"\\\x00-\x1f]+)'


@dataclass(frozen=True, slots=True)
class Likes:
    """Events of one data line that stand together, as a template reads them: one entry for each.

    A text is empty where only the bytes around the template's places are alike. ``ids`` counts them, and is
    None without any. ``between`` is what stands between the bytes around, one event a line.
    """

    texts: list[bytes]  # each is UTF-8
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


@dataclass(frozen=True, slots=True)
class _Middle:
    """How what lies between the bytes around is read: of one event, and of lines of many.

    ``text_group`` is the group of the text; with ids the other one of two holds them.
    """

    one: Callable[..., re.Match[bytes] | None]
    many: Callable[[bytes], list[Any]]
    has_ids: bool
    text_group: int


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
        "has_served",
    )

    def __init__(self, prefix: bytes, suffix: bytes, middle: _Middle) -> None:
        self.has_served = False  # whether payloads of another reply had this form
        self._prefix, self._suffix = prefix, suffix
        self._line_prefix, self._line_suffix = _LINE + prefix, suffix + _BLANK
        self._between = self._line_suffix + self._line_prefix
        self._hole, self._holes = middle.one, middle.many
        self._has_ids, self._text_group = middle.has_ids, middle.text_group

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
        texts, ids = found, None
        if self._has_ids:
            place = self._text_group - 1
            texts = [entry[place] for entry in found]
            ids = [_count(entry[1 - place]) for entry in found]
        if not lines.isascii() and not all(map(_is_text, texts)):
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


@dataclass(frozen=True, slots=True)
class _Form:
    """What the payloads of all replies of one server have in common: a reply names itself in each of its own.

    ``head`` ends where that name begins, ``rest`` goes on behind it up to the first place of a template
    (None: no name stands there, and ``head`` goes so far).
    """

    head: bytes
    rest: bytes | None
    suffix: bytes
    middle: _Middle

    def template(self, raw: bytes) -> DeltaTemplate | None:
        """That of a reply whose payload this is; None for one of another form."""
        if not (raw.startswith(self.head) and raw.endswith(self.suffix)):
            return None
        if self.rest is None:
            return DeltaTemplate(self.head, self.suffix, self.middle)
        end = raw.find(b'"', len(self.head))
        if (
            end < 0
            or not raw.startswith(self.rest, end)
            or raw.find(b"\\", len(self.head), end) >= 0
        ):
            return None
        return DeltaTemplate(raw[: end + len(self.rest)], self.suffix, self.middle)


# Those that served last. What a form says of a payload is what would be found without it.
_forms: deque[_Form] = deque(maxlen=8)


def template_of(raw: bytes, text: str, ids: int | None) -> DeltaTemplate | None:
    """The template of a payload that said exactly this text and so many ids; None if it has no such form."""
    for form in _forms:
        made = form.template(raw)
        if made is not None and made.of_event(raw) == (text, ids):
            made.has_served = True
            return made
    new = _form_of(raw, ids)
    made = None if new is None else new.template(raw)
    if new is None or made is None or made.of_event(raw) != (text, ids):
        return None
    _forms.appendleft(new)
    return made


def _form_of(raw: bytes, ids: int | None) -> _Form | None:
    strings = list(_STRING.finditer(raw))
    lists = list(_IDS.finditer(raw))
    if len(strings) != 1 or len(lists) != (0 if ids is None else 1) or b"\n" in raw:
        return None
    places = [(strings[0].start(2), strings[0].end(2), _STRING_HOLE)]
    places += [(found.start(1), found.end(1), _IDS_HOLE) for found in lists]
    places += [(found.start(1), found.end(1), _STAMP_HOLE) for found in _STAMP.finditer(raw)]
    places.sort()
    first, last = places[0][0], places[-1][1]
    between = tuple(raw[one[1] : other[0]] for one, other in pairwise(places))
    named = _NAME.search(raw, 0, first)
    return _Form(
        raw[:first] if named is None else raw[: named.start(1)],
        None if named is None else raw[named.end(1) : first],
        raw[last:],
        _middle(tuple(hole for _, _, hole in places), between),
    )


@lru_cache(maxsize=256)
def _middle(holes: tuple[bytes, ...], between: tuple[bytes, ...]) -> _Middle:
    """Of one event, and of lines of which each is one or is not. Servers have few forms."""
    pattern = holes[0]
    for fixed, hole in zip(between, holes[1:], strict=True):
        pattern += re.escape(fixed) + hole
    told = [hole for hole in holes if hole is not _STAMP_HOLE]
    return _Middle(
        re.compile(pattern).fullmatch,
        re.compile(rb"^(?:" + pattern + rb"|.*)$", re.MULTILINE).findall,
        has_ids=len(told) == 2,
        text_group=1 if told[0] is _STRING_HOLE else 2,
    )


def _is_text(data: bytes) -> bool:
    """A character that is split over two texts is none."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _count(ids: bytes) -> int:
    return ids.count(b",") + 1 if ids else 0
