"""A page's HTML made to stand alone in a file: what needs a server goes, what is read stays word for word.

Only tags and attributes named in ``passing`` pass, and all text is escaped again, so that whatever a page
shows of a model's output stays text in the file too. A link to another page becomes plain words; a figure
is drawn.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser

from django.utils.html import escape
from django.utils.safestring import SafeString

from assay.analysis.metrics.catalogue import ALL_RULES
from assay.pages.reports.drawing.plot import drawing
from assay.pages.reports.passing import DROPPED, DROPPED_CLASSES, FOLDS, KEPT, LIVE, VOID, passes

REFERRING = ("id", "aria-labelledby", "aria-describedby")
HEIGHTS = {"tall": 560.0, "medium": 380.0, "low": 230.0}
RULE = "rule-"

Attributes = Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A part of a page that stands alone, with the rules that it names."""

    html: SafeString
    rules: frozenset[str]


def leaf(html: str, *, prefix: str, rules_page: str, without: frozenset[str] = frozenset()) -> Leaf:
    """Of a whole page its main part, of a fragment all. Ids begin with ``prefix``, to be joined with others.

    ``rules_page`` is the address of the page of rules; elements of a class in ``without`` are left out.
    """
    writer = _Writer(prefix, rules_page, DROPPED_CLASSES | without, whole="<main" not in html)
    writer.feed(html)
    writer.close()
    return Leaf(html=SafeString(writer.text()), rules=frozenset(writer.rules))


@dataclass(slots=True)
class _Open:
    """An element that is not closed yet; ``written`` as a tag of this name, or not at all."""

    tag: str
    written: str = ""
    drops: bool = False
    is_main: bool = False


@dataclass(slots=True)
class _Figure:
    """Where a drawing goes, once its data came by."""

    place: int
    source: str
    label: str
    height: float | None


@dataclass(slots=True)
class _Found:
    parts: list[str] = field(default_factory=list)
    figures: list[_Figure] = field(default_factory=list)
    data: dict[str, str] = field(default_factory=dict)


class _Writer(HTMLParser):
    def __init__(
        self, prefix: str, rules_page: str, dropped: frozenset[str], *, whole: bool
    ) -> None:
        super().__init__(convert_charrefs=True)
        self.rules: set[str] = set()
        self._prefix, self._rules_page, self._dropped = prefix, rules_page, dropped
        self._inside = whole
        self._stack: list[_Open] = []
        self._found = _Found()
        self._figure: dict[str, str | None] = {}
        self._data_of = ""

    def text(self) -> str:
        for figure in self._found.figures:
            described = json.loads(self._found.data[figure.source])
            if figure.height is not None:
                described["layout"].setdefault("height", figure.height)
            self._found.parts[figure.place] = drawing(described, figure.label)
        return "".join(self._found.parts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "main":
            self._inside = True
            self._stack.append(_Open(tag, is_main=True))
            return
        if tag == "script" and given.get("type") == "application/json":
            self._data_of = given.get("id") or ""
        opened = _Open(tag, drops=self._drops(tag, given))
        silent = not self._inside or opened.drops or self._in_dropped()
        if tag not in VOID:
            self._stack.append(opened)
        if silent:
            return
        opened.written = self._begin(tag, given)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._data_of = ""
        if not any(opened.tag == tag for opened in self._stack):
            return
        while self._stack:
            opened = self._stack.pop()
            if opened.written:
                self._found.parts.append(f"</{opened.written}>")
            if opened.is_main:
                self._inside = False
            if opened.tag == tag:
                return

    def handle_data(self, data: str) -> None:
        if self._data_of:
            self._found.data[self._data_of] = self._found.data.get(self._data_of, "") + data
        elif self._inside and not self._in_dropped():
            self._found.parts.append(escape(data))

    def _in_dropped(self) -> bool:
        return any(opened.drops for opened in self._stack)

    def _drops(self, tag: str, given: Attributes) -> bool:
        classes = set((given.get("class") or "").split())
        return tag in DROPPED or LIVE in given or bool(classes & self._dropped)

    def _begin(self, tag: str, given: Attributes) -> str:
        """Writes the tag and returns the name that closes it; nothing of a tag that is not kept."""
        if tag == "a":
            return self._link(given)
        if tag not in KEPT:
            return ""
        if tag == "figure":
            self._figure = dict(given)
        written = self._attributes(given)
        self._found.parts.append(f"<{tag}{written}>")
        if tag == "div" and "plot" in (given.get("class") or "").split():
            self._place_for_drawing(given)
        return "" if tag in VOID else tag

    def _link(self, given: Attributes) -> str:
        href = given.get("href") or ""
        target = ""
        if href.startswith("#"):
            target = self._prefix + href[1:]
        elif href.startswith(f"{self._rules_page}#"):
            target = self._rule(href.partition("#")[2])
        written = self._attributes(given)
        if not target:
            self._found.parts.append(f"<span{written}>")
            return "span"
        self._found.parts.append(f'<a href="#{escape(target)}"{written}>')
        return "a"

    def _rule(self, name: str) -> str:
        """Where the file defines it; nowhere if this version knows no such rule."""
        if name not in ALL_RULES:
            return ""
        self.rules.add(name)
        return RULE + name

    def _attributes(self, given: Attributes) -> str:
        written = []
        for name, value in given.items():
            if name in REFERRING:
                value = " ".join(self._prefix + part for part in (value or "").split())
            elif not passes(name) or (name == "open" and FOLDS in given):
                continue
            written.append(f' {name}="{escape(value or "")}"')
        return "".join(written)

    def _place_for_drawing(self, given: Attributes) -> None:
        self._found.figures.append(
            _Figure(
                place=len(self._found.parts),
                source=self._figure.get("data-figure") or "",
                label=given.get("aria-label") or "",
                height=HEIGHTS.get(self._figure.get("data-height") or ""),
            )
        )
        self._found.parts.append("")
