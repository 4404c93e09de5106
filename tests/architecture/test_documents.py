"""The documents name files that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Decisions are of their day: they may name what was, or what must never be.
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ROOTS = (
    "platform",
    "runners",
    "experiments",
    "frontend",
    "migrations",
    "tests",
    "docs",
    "benchmarks",
)
_PATH = re.compile(rf"`((?:{'|'.join(ROOTS)})/[\w./-]*)`")
_LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)[^)]*\)")


def named(document: Path) -> dict[str, Path]:
    """Paths in backticks from the root of the checkout, and links from the document's own folder."""
    text = document.read_text(encoding="utf-8")
    paths = {path: ROOT / path for path in _PATH.findall(text)}
    return paths | {link: document.parent / link for link in _LINK.findall(text)}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_what_a_document_names_exists(document: Path) -> None:
    assert [name for name, path in named(document).items() if not path.exists()] == []


def test_the_checklists_name_the_files_to_touch() -> None:
    assert "runners/catalogue.py" in named(ROOT / "docs" / "adding-an-engine.md")
    assert len(named(ROOT / "docs" / "adding-a-metric.md")) > 10
