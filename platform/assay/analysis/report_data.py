"""The data inside a report file: one text, its SHA-256, and reading both back out of the file.

The text is JSON with sorted keys in ASCII, and no character that HTML could take for markup; the hash is of
that text as it stands between the tags, so that any tool can compute it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

ELEMENT = "report-data"
STATED = "data-sha256"
_MARKUP = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DataBlock:
    text: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundData:
    """What a file holds. ``document`` is None where its text is no JSON object."""

    stated: str
    computed: str
    document: dict[str, Any] | None

    @property
    def holds(self) -> bool:
        return self.stated == self.computed and self.document is not None


def data_block(document: Mapping[str, Any]) -> DataBlock:
    """Raises ValueError for NaN and infinities, which have forms of their own in every document."""
    text = json.dumps(document, sort_keys=True, allow_nan=False).translate(_MARKUP)
    return DataBlock(text=text, sha256=_sha256(text))


def found_data(html: str) -> FoundData | None:
    """None where the text is no report, or holds several blocks."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    if reader.blocks != 1:
        return None
    text = "".join(reader.text)
    return FoundData(stated=reader.stated, computed=_sha256(text), document=_object(text))


def _sha256(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text: list[str] = []
        self.stated = ""
        self.blocks = 0
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "script" and given.get("id") == ELEMENT:
            self._inside = True
            self.blocks += 1
            self.stated = given.get(STATED) or ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.text.append(data)
