"""The ordinary delta chunk, known again by its bytes.

Most payloads of a stream differ from the one before in one string, perhaps a list of token ids, and perhaps
the time at which the server wrote them. A payload that was read in full becomes a template: the bytes around
these places. A later payload with the same bytes around them says the same but for them, and is read without
parsing. Anything else, an escape in the string included, goes the full way, so that both ways give the same
answers.
"""

import re
from collections import deque
from collections.abc import Callable, Sequence
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
_NAME = re.compile(rb'"id":\s?"([^"\\]*)"')  # of the reply, in its own words
_LINE, _BLANK = b"data: ", b"\n\n"
_STRING_HOLE = rb'([^"\\\x00-\x1f]+)'
_NO_TEXT = bytes(
    [*range(32), ord("\\")]
)  # what the string of a template never holds, the quote apart


@dataclass(frozen=True, slots=True)
class Likes:
    """What so many events say together, and how many ids each of them has; None without any."""

    count: int
    text: str
    ids: list[int] | None


@dataclass(frozen=True, slots=True)
class _Middle:
    """How what lies between the bytes around is read: ``one`` is a match of all of it.

    ``text_group`` is the group of the text; with ids the other one of two holds them. ``before_stamp`` is
    what stands between the text and the only place after it, a time; None where more follows the text than
    that. Where nothing does it is empty.
    """

    one: Callable[..., re.Match[bytes] | None]
    has_ids: bool
    text_group: int
    before_stamp: bytes | None


class DeltaTemplate:
    """Bytes around the text and the ids of one delta.

    ``of_event`` looks at a payload, ``of_read`` at the bytes of a read that holds one whole event of one data
    line. Both give ``(text, ids or None)``, or None for anything else. ``of_run`` looks at many such lines.
    """

    __slots__ = ("_digits", "_middle", "_opening", "_prefix", "_suffix", "has_served")

    def __init__(self, prefix: bytes, suffix: bytes, middle: _Middle) -> None:
        self.has_served = False  # whether payloads of another reply had this form
        self._prefix, self._suffix, self._middle = prefix, suffix, middle
        # Of the last payload: its line up to the text, and how long the time after the text was.
        self._opening, self._digits = _LINE, 0

    def of_event(self, raw: bytes) -> tuple[str, int | None] | None:
        prefix, suffix, middle = self._prefix, self._suffix, self._middle
        if not (raw.startswith(prefix) and raw.endswith(suffix)):
            return None
        found = middle.one(raw, len(prefix), len(raw) - len(suffix))
        if found is None:
            return None
        group = middle.text_group
        try:
            text = found[group].decode()
        except UnicodeDecodeError:
            return None
        if middle.has_ids:
            return text, _count(found[3 - group])
        start, end = found.span(group)
        self._opening = _LINE + raw[:start]
        self._digits = len(raw) - len(suffix) - len(middle.before_stamp or b"") - end
        return text, None

    def of_read(self, data: bytes) -> tuple[str, int | None] | None:
        if not (data.startswith(_LINE) and data.endswith(_BLANK)):
            return None
        return self.of_event(data[len(_LINE) : -len(_BLANK)])

    def of_run(self, events: Sequence[bytes]) -> Likes:
        """What the first of these events say, as far as they are alike; each ends with its empty line."""
        if self._middle.has_ids or self._middle.before_stamp is None:
            return self._one_by_one(events)
        texts = self._stamped(events) if self._middle.before_stamp else self._bare(events)
        texts = texts[: _end_of_texts(texts)]
        return Likes(len(texts), b"".join(texts).decode(), None)

    def _bare(self, events: Sequence[bytes]) -> list[bytes]:
        """What stands at the place of the text in events that are alike but for it, whatever it is."""
        opening, closing = self._opening, self._suffix + _BLANK
        start = len(opening)
        texts: list[bytes] = []
        for event in events:
            end = event.find(b'"', start)
            if event[end:] != closing or not event.startswith(opening):
                break
            texts.append(event[start:end])
        return texts

    def _stamped(self, events: Sequence[bytes]) -> list[bytes]:
        """The same where a time of so many digits follows the text."""
        opening, closing = self._opening, self._suffix + _BLANK
        before = self._middle.before_stamp or b""
        start, first, last = len(opening), len(before), len(before) + self._digits
        texts: list[bytes] = []
        for event in events:
            end = event.find(b'"', start)
            rest = event[end:]
            stamp = rest[first:last]
            if (
                rest[last:] != closing
                or not stamp.isdigit()
                or stamp[:1] == b"0"
                or not rest.startswith(before)
                or not event.startswith(opening)
            ):
                break
            texts.append(event[start:end])
        return texts

    def _one_by_one(self, events: Sequence[bytes]) -> Likes:
        texts: list[str] = []
        ids: list[int] = []
        for event in events:
            known = self.of_read(event)
            if known is None:
                break
            texts.append(known[0])
            ids.append(known[1] or 0)
        return Likes(len(texts), "".join(texts), ids if self._middle.has_ids else None)


def _end_of_texts(texts: Sequence[bytes]) -> int:
    """How many of the first are texts: not empty, without an escape, and UTF-8 each by itself."""
    together = b"".join(texts)
    if (
        all(texts)
        and together.isascii()
        and len(together.translate(None, _NO_TEXT)) == len(together)
    ):
        return len(texts)
    return next((n for n, text in enumerate(texts) if not _is_text(text)), len(texts))


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
    """Servers have few forms."""
    pattern = holes[0]
    for fixed, hole in zip(between, holes[1:], strict=True):
        pattern += re.escape(fixed) + hole
    told = [hole for hole in holes if hole is not _STAMP_HOLE]
    after_text = holes[holes.index(_STRING_HOLE) + 1 :]
    return _Middle(
        re.compile(pattern).fullmatch,
        has_ids=len(told) == 2,
        text_group=1 if told[0] is _STRING_HOLE else 2,
        before_stamp=between[-1] if after_text == (_STAMP_HOLE,) else None if after_text else b"",
    )


def _is_text(data: bytes) -> bool:
    """A character that is split over two texts is none."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return bool(data) and len(data.translate(None, _NO_TEXT)) == len(data)


def _count(ids: bytes) -> int:
    return ids.count(b",") + 1 if ids else 0
