"""Segments of a series: cut by identity, never by readings."""

from typing import Any

from assay.analysis.regression.series import Difference, Start, segments


def start(run: str, **identity: Any) -> Start:
    return Start(run=run, ended=True, identity=identity, values={})


def cut(*starts: Start, variable: str | None = None) -> list[list[str]]:
    return [[s.run for s in segment.starts] for segment in segments(starts, variable=variable)]


def test_starts_of_one_identity_are_one_segment() -> None:
    assert cut(start("a", device="x"), start("b", device="x")) == [["a", "b"]]


def test_a_difference_begins_a_new_segment_and_says_where() -> None:
    found = segments([start("a", device="x", os="1"), start("b", device="y", os="1")])

    assert [[s.run for s in segment.starts] for segment in found] == [["a"], ["b"]]
    assert found[0].why == ()
    assert found[1].why == (Difference(field="device", before="x", after="y"),)


def test_the_declared_variable_may_differ_within_a_segment() -> None:
    pair = start("a", engine="0.32.0"), start("b", engine="0.33.0")

    assert cut(*pair, variable="engine") == [["a", "b"]]
    assert cut(*pair) == [["a"], ["b"]]


def test_unknown_equals_nothing_not_even_unknown() -> None:
    assert cut(start("a", os=None), start("b", os=None)) == [["a"], ["b"]]


def test_a_field_that_one_side_lacks_is_a_difference() -> None:
    assert cut(start("a", device="x"), start("b", device="x", os="1")) == [["a"], ["b"]]
    assert cut(start("a", device="x", os="1"), start("b", device="x")) == [["a"], ["b"]]
