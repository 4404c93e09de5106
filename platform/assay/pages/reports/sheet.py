"""The file of a report: facts first, then its chapters, the rules it names, and its data with their hash."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path

from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from assay.analysis.definition import DEFINITION_VERSION
from assay.analysis.report_data import DataBlock
from assay.pages.reports.standing_alone import Leaf

STYLES = ("base", "table", "parts", "run", "compare", "review", "report")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A run that the report speaks of; digests are whole, so that paper names the bundle too."""

    name: str
    run: str
    state: str
    bundle_digest: str
    spec_digest: str
    definition_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    key: str
    title: str
    leaf: Leaf


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """``remarks`` say what the report does not hold."""

    kind: str
    title: str
    written_at: datetime
    written_by: str
    sources: Sequence[Source]
    chapters: Sequence[Chapter]
    remarks: Sequence[str]
    block: DataBlock

    @property
    def definitions(self) -> list[str]:
        return sorted({source.definition_version for source in self.sources} - {""})

    @property
    def shown_rules(self) -> frozenset[str]:
        return frozenset().union(*(chapter.leaf.rules for chapter in self.chapters))


def written(report: Report, rules: Sequence[object]) -> str:
    """The whole file; ``rules`` are those that it names, as the page of rules has them."""
    context = {
        "report": report,
        "rules": rules,
        "rules_version": DEFINITION_VERSION,
        "style": style(),
        "policy": policy(),
        "data": SafeString(report.block.text),  # holds no character of markup: analysis.report_data
    }
    return render_to_string("pages/report/file.html", context)


@cache
def style() -> SafeString:
    """The style sheets of the pages and that of reports, as one text."""
    texts = []
    for name in STYLES:
        path = finders.find(f"css/{name}.css")
        assert isinstance(path, str), f"css/{name}.css is no file of this installation"
        texts.append(Path(path).read_text(encoding="utf-8"))
    return SafeString("\n".join(texts))


def policy() -> str:
    """Nothing may be loaded and no script run; of styles this file's own alone."""
    digest = b64encode(sha256(style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
