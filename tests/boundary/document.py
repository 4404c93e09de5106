"""The tables of docs/timeouts-and-boundaries.md, read back: what is documented must be what is measured."""

from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs" / "timeouts-and-boundaries.md"


def documented(heading: str) -> list[list[str]]:
    """The rows of the first table under ``## heading``, its head left out."""
    _, _, section = DOCUMENT.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    assert section, f"{DOCUMENT.name} has no section {heading!r}"
    lines = section.partition("\n## ")[0].splitlines()
    table = [line for line in lines if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]
