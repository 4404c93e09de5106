"""Forms of payloads that a server sent before: what one of them says is known without parsing it.

The replies of one server differ in the name that a reply has, which stands in each of its payloads, and in
what a template leaves open: the text, the ids of tokens, times. A payload that was read in full leaves its
form, with what it said. One of another reply that has this form says the same, but for its text and its ids.
"""

import re
from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from assay.analysis.wire.content import Payload
from assay.analysis.wire.template import DeltaTemplate, Middle, is_literal

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
_STRING_HOLE = rb'([^"\\\x00-\x1f]+)'


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a payload of one text, perhaps with ids and an end, said to a reader that takes each by itself.

    ``dialect`` is the one in which it was read, ``shown`` the one that the payload itself shows.
    """

    payload: Payload
    dialect: str | None
    shown: str | None

    def again(self, text: str, ids: int | None) -> Payload:
        """What a payload of the same form says with another text and other ids: it says nothing else."""
        said = self.payload
        return Payload(
            classes=said.classes,
            answer=None if said.answer is None else dict.fromkeys(said.answer, text),
            reasoning=None if said.reasoning is None else dict.fromkeys(said.reasoning, text),
            finish=said.finish,
            finish_words=said.finish_words,
            token_ids=ids,
        )


@dataclass(frozen=True, slots=True)
class _Form:
    """What the payloads of all replies of one server have in common: a reply names itself in each of its own.

    ``head`` ends where that name begins, ``rest`` goes on behind it up to the first place of a template
    (None: no name stands there, and ``head`` goes so far).
    """

    head: bytes
    rest: bytes | None
    suffix: bytes
    middle: Middle
    between: tuple[bytes, ...]  # what the places lie between: told apart at a glance
    said: Said | None = None  # where it is known what it says to another reader

    def template(self, raw: bytes) -> DeltaTemplate | None:
        """That of a reply whose payload this is; None for one of another form."""
        if not (raw.startswith(self.head) and raw.endswith(self.suffix)):
            return None
        for part in self.between:
            if part not in raw:
                return None
        if self.rest is None:
            return DeltaTemplate(self.head, self.suffix, self.middle)
        end = raw.find(b'"', len(self.head))
        if end < 0 or not raw.startswith(self.rest, end) or not _is_name(raw[len(self.head) : end]):
            return None
        return DeltaTemplate(raw[: end + len(self.rest)], self.suffix, self.middle)


# Those that served last. What a form says of a payload is what would be found without it.
_forms: deque[_Form] = deque(maxlen=8)


def known(raw: bytes, dialect: str | None) -> tuple[Said, Payload, DeltaTemplate] | None:
    """What a payload of a reply in this dialect (None: not yet recognised) says, if its form tells.

    The same that a reader of single payloads would be told, and the template of those after it.
    """
    for form in _forms:
        said = form.said
        if said is None or (dialect or said.shown) != said.dialect:
            continue
        made = form.template(raw)
        found = None if made is None else made.of_event(raw)
        if made is not None and found is not None:
            made.has_served = True
            return said, said.again(*found), made
    return None


def template_of(
    raw: bytes, text: str, ids: int | None, said: Said | None = None
) -> DeltaTemplate | None:
    """The template of a payload that said exactly this text and so many ids; None if it has no such form.

    ``said``: all that it said, where that may be said again for other replies.
    """
    for form in _forms:
        made = form.template(raw)
        if made is not None and made.of_event(raw) == (text, ids):
            made.has_served = True
            return made
    new = _form_of(raw, ids, said)
    made = None if new is None else new.template(raw)
    if new is None or made is None or made.of_event(raw) != (text, ids):
        return None
    _forms.appendleft(new)
    return made


def _form_of(raw: bytes, ids: int | None, said: Said | None) -> _Form | None:
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
        between,
        said,
    )


def _is_name(name: bytes) -> bool:
    """Whether a payload with this name is as good JSON as one with another."""
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return is_literal(name)


@lru_cache(maxsize=256)
def _middle(holes: tuple[bytes, ...], between: tuple[bytes, ...]) -> Middle:
    """Servers have few forms."""
    pattern = holes[0]
    for fixed, hole in zip(between, holes[1:], strict=True):
        pattern += re.escape(fixed) + hole
    told = [hole for hole in holes if hole is not _STAMP_HOLE]
    after_text = holes[holes.index(_STRING_HOLE) + 1 :]
    return Middle(
        re.compile(pattern).fullmatch,
        has_ids=len(told) == 2,
        text_group=1 if told[0] is _STRING_HOLE else 2,
        before_stamp=between[-1] if after_text == (_STAMP_HOLE,) else None if after_text else b"",
    )
