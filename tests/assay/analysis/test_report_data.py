"""The data of a report: no markup in the text, a hash that anybody can compute, and changes that are seen."""

import json
from hashlib import sha256

import pytest

from assay.analysis.report_data import ELEMENT, STATED, data_block, found_data

HOSTILE = "</script><script>alert(1)</script><!-- \u2028 \u202e \x00 &amp; é"


def file_of(text: str, stated: str) -> str:
    return f'<html><script type="application/json" id="{ELEMENT}" {STATED}="{stated}">{text}</script></html>'


def test_what_went_in_comes_out_and_nothing_in_it_is_markup() -> None:
    block = data_block({"b": HOSTILE, "a": [1, 2.5, None]})

    assert not set(block.text) & set("<>&")
    assert block.text.isascii()
    assert json.loads(block.text) == {"b": HOSTILE, "a": [1, 2.5, None]}
    assert block.text.index('"a"') < block.text.index('"b"')


def test_the_hash_is_of_the_text_as_it_stands_in_the_file() -> None:
    block = data_block({"words": HOSTILE})

    found = found_data(file_of(block.text, block.sha256))

    assert found is not None
    assert found.holds
    assert found.computed == sha256(block.text.encode()).hexdigest()
    assert found.document == {"words": HOSTILE}


@pytest.mark.parametrize(
    ("before", "after"),
    [("0.142", "0.141"), ("}", "} "), ("{", "{]")],
    ids=["value", "space", "form"],
)
def test_a_changed_text_does_not_hold(before: str, after: str) -> None:
    block = data_block({"ttft_s": 0.142})

    found = found_data(file_of(block.text.replace(before, after, 1), block.sha256))

    assert found is not None
    assert not found.holds


def test_a_file_without_data_or_with_two_of_them_is_no_report() -> None:
    block = data_block({})

    assert found_data("<p>a page</p>") is None
    assert found_data(2 * file_of(block.text, block.sha256)) is None
