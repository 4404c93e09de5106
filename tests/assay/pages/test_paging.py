"""Pages of rows, and tables as files."""

import csv
import io
import json

import pytest

from assay.pages import exports
from assay.pages.paging import window


@pytest.mark.parametrize(
    ("asked", "number"), [(None, 1), ("2", 2), ("99", 3), ("0", 1), ("-1", 1), ("x", 1), ("²", 1)]
)
def test_an_asked_page_is_brought_into_range(asked: str | None, number: int) -> None:
    assert window(70, asked).number == number


def test_the_last_page_ends_with_the_last_row() -> None:
    last = window(70, "3")

    assert (last.first, last.last, last.previous, last.next) == (51, 70, 2, None)


def test_no_rows_are_one_empty_page() -> None:
    assert (window(0, "5").first, window(0, "5").last, window(0, "5").pages) == (0, 0, 1)


def test_a_missing_value_is_an_empty_cell_and_null() -> None:
    rows = [["a", None, 0.1]]

    as_csv = b"".join(exports.table("t", "csv", ["x", "y", "z"], rows)).decode()
    as_json = json.loads(exports.table("t", "json", ["x", "y", "z"], rows).content)  # type: ignore[attr-defined]

    assert list(csv.reader(io.StringIO(as_csv))) == [["x", "y", "z"], ["a", "", "0.1"]]
    assert as_json == [{"x": "a", "y": None, "z": 0.1}]


def test_model_output_in_a_cell_is_no_formula() -> None:
    rows = [['=HYPERLINK("https://example.invalid")']]

    text = b"".join(exports.table("t", "csv", ["x"], rows)).decode()

    assert next(csv.reader(io.StringIO(text.split("\n", 1)[1])))[0].startswith("'=")
