"""The ordinary delta chunk, known again by its bytes.

Most payloads of a stream differ from the one before in one string, perhaps a list of token ids, and perhaps
the time at which the server wrote them. A payload that was read in full becomes a template: the bytes around
these places. A later payload with the same bytes around them says the same but for them, and is read without
parsing. Anything else, an escape in the string included, goes the full way, so that both ways give the same
answers.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_LINE, _BLANK = b"data: ", b"\n\n"
_NO_TEXT = bytes([*range(32), *b'"\\'])  # what the string of a template never holds
_MOST_ENDING = (
    4  # events at the end of a run that are looked at alone: a stream ends in a few of its own
)
_ANY_DIGIT = bytes.maketrans(b"123456789", b"000000000")


@dataclass(frozen=True, slots=True)
class Likes:
    """What so many events say together, and how many ids each of them has; None without any."""

    count: int
    text: str
    ids: list[int] | None


@dataclass(frozen=True, slots=True)
class Middle:
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

    def __init__(self, prefix: bytes, suffix: bytes, middle: Middle) -> None:
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
        read = self._stamped if self._middle.before_stamp else self._bare
        if not read(events[:1]):
            return Likes(0, "", None)
        alike = len(events)
        while alike > 1 and len(events) - alike < _MOST_ENDING and not read(events[alike - 1 :]):
            alike -= 1
        texts = self._at_once(events[:alike]) or read(events[:alike])
        texts = texts[: _end_of_texts(texts)]
        return Likes(len(texts), b"".join(texts).decode(), None)

    def _at_once(self, events: Sequence[bytes]) -> list[bytes]:
        """What the next two say, by a few looks at all events together; nothing where one is not alike."""
        opening, before = self._opening, self._middle.before_stamp or b""
        fixed = before + self._suffix + _BLANK
        start, cut = len(opening), len(fixed) + (self._digits if before else 0)
        heads, tails = [event[:start] for event in events], [event[-cut:] for event in events]
        if heads.count(opening) < len(events):
            return []
        if before:
            joined, stamp = b"".join(tails), b"0" * self._digits
            closings = before + stamp + self._suffix + _BLANK
            if (
                fixed.translate(_ANY_DIGIT) != fixed  # then a digit of it would pass for another
                or joined.translate(_ANY_DIGIT) != closings * len(events)
                or b"0" in joined[len(before) :: cut]
            ):
                return []
        elif tails.count(fixed) < len(events):
            return []
        return [event[start:-cut] for event in events]

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
    if all(texts) and together.isascii() and is_literal(together):
        return len(texts)
    return next((n for n, text in enumerate(texts) if not _is_text(text)), len(texts))


def _is_text(data: bytes) -> bool:
    """A character that is split over two texts is none."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return bool(data) and is_literal(data)


def is_literal(data: bytes) -> bool:
    """Whether these bytes stand for themselves inside a string of JSON."""
    return len(data.translate(None, _NO_TEXT)) == len(data)


def _count(ids: bytes) -> int:
    return ids.count(b",") + 1 if ids else 0
