"""docs/metrics.md is the catalogue."""

from pathlib import Path

from assay.analysis.metrics.catalogue import ALL_RULES
from assay.analysis.metrics.catalogue_document import document

DOCUMENT = Path(__file__).resolve().parents[4] / "docs" / "metrics.md"


def test_the_document_is_current() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(), "run `make docs`"


def test_every_rule_has_its_row_once() -> None:
    text = document()

    assert {rule: text.count(f"| `{rule}` v") for rule in ALL_RULES} == dict.fromkeys(ALL_RULES, 1)


def test_a_bar_in_a_cell_does_not_break_the_table() -> None:
    rows = [line for line in document().splitlines() if line.startswith("|")]

    assert {line.replace("\\|", "").count("|") for line in rows} == {8}
