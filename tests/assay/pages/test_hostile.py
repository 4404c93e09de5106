"""Text that nobody vouches for."""

from hypothesis import given
from hypothesis import strategies as st

from assay.pages.hostile import visible, visible_bytes


def test_a_terminal_escape_is_drawn() -> None:
    assert visible("\x1b[31mred\x1b[0m") == "␛[31mred␛[0m"


def test_a_direction_mark_is_named_and_not_obeyed() -> None:
    assert visible("a\u202eb") == "a⟦U+202E⟧b"


def test_what_is_no_utf8_is_shown_as_replaced() -> None:
    assert visible_bytes(b"ok\xff\x00") == "ok\ufffd␀"


def test_a_line_of_a_megabyte_is_cut_and_says_so() -> None:
    assert visible("x" * 1_000_000, limit=100).endswith("(999900 more characters)")


@given(st.text())
def test_nothing_invisible_is_left(text: str) -> None:
    assert all(c.isprintable() or c in "\n\t" for c in visible(text) if c not in "\u3000\xa0")
