"""The canonical JSON that goes through the C encoder is the library's, byte for byte."""

from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from runners.protocol.canonical_json import canonical

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
DOCUMENTS = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


@given(DOCUMENTS)
def test_any_document_is_written_as_the_library_writes_it(document: Any) -> None:
    try:
        expected = rfc8785.dumps(document)
    except rfc8785.CanonicalizationError:  # half a surrogate pair
        with pytest.raises(rfc8785.CanonicalizationError):
            canonical(document)
    else:
        assert canonical(document) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, b"1"),
        (-0.0, b"0"),
        (0.7, b"0.7"),
        (1e-4, b"0.0001"),
        (1e-5, b"0.00001"),  # Python would write 1e-05
        (1e-7, b"1e-7"),  # and 1e-07
        (1e16, b"10000000000000000"),  # and 1e+16
        (1e21, b"1e+21"),
        ('\x00\x1f\x7f"\\\n€', '"\\u0000\\u001f\x7f\\"\\\\\\n€"'.encode()),
        ({"b": 1, "a": (1, 2)}, b'{"a":[1,2],"b":1}'),
        ({"\ufb33": 1, "\U0001f600": 2}, '{"\U0001f600":2,"\ufb33":1}'.encode()),  # by UTF-16 units
    ],
)
def test_what_javascript_writes_another_way_than_python(value: Any, text: bytes) -> None:
    assert canonical(value) == text == rfc8785.dumps(value)


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 2**53, {1: 2}, {"a": object()}, b"x"]
)
def test_what_canonical_json_cannot_hold_is_refused_by_the_library(value: Any) -> None:
    with pytest.raises(rfc8785.CanonicalizationError):
        canonical({"in": value})


def test_rows_of_a_plan_do_not_need_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rfc8785, "dumps", None)

    row = {"temperature": 0.0, "top_p": 0.95, "stop": ["\n"], "offset_ns": 10**15, "case": None}

    assert canonical([row]) == (
        b'[{"case":null,"offset_ns":1000000000000000,"stop":["\\n"],"temperature":0,"top_p":0.95}]'
    )
