"""No worked example of the source is left out."""

from pathlib import Path

import pytest

from tests.golden import book


@pytest.mark.parametrize("chapter", ["ch1", "ch2", "ch3", "ch10"])
def test_every_example_of_the_chapter_is_a_test(chapter: str) -> None:
    text = "".join(p.read_text(encoding="utf-8") for p in Path(__file__).parent.glob("test_*.py"))

    missing = [name for name in book.identities(chapter) if f'"{name}"' not in text]

    assert not missing
