"""No worked example of chapter 1 is left out."""

from pathlib import Path

from tests.golden import book


def test_every_example_of_chapter_1_is_a_test() -> None:
    here = Path(__file__).parent
    text = "".join(
        (here / name).read_text(encoding="utf-8")
        for name in ("test_chapter1_paths.py", "test_chapter1_streams.py")
    )

    missing = [name for name in book.identities("ch1") if f'"{name}"' not in text]

    assert not missing
