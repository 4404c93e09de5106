"""Pairs of queries and keys under a window, a chunk or a choice, against counting them one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.perfmodel.mixers.span import (
    Span,
    attended_pairs,
    stored_attended,
    visible_pairs,
)

BOUNDED = [Span.SLIDING, Span.CHUNKED, Span.CHOSEN]


def attends(span: Span, window: int, position: int) -> int:
    """Tokens that the token at ``position`` attends to, itself included, by the mask's definition."""
    seen = range(position + 1)
    if span is Span.CHUNKED:
        return sum(each // window == position // window for each in seen)
    return min(len(seen), window)


@given(
    span=st.sampled_from(BOUNDED),
    window=st.integers(1, 12),
    new=st.integers(1, 40),
    stored=st.integers(0, 40),
)
def test_pairs_are_those_of_the_mask(span: Span, window: int, new: int, stored: int) -> None:
    counted = sum(attends(span, window, p) for p in range(stored, stored + new))

    assert attended_pairs(span, window, new=new, stored=stored) == counted


@given(span=st.sampled_from(BOUNDED), window=st.integers(1, 12), stored=st.integers(0, 60))
def test_a_decode_step_reads_what_its_token_attends_to_but_itself(
    span: Span, window: int, stored: int
) -> None:
    assert stored_attended(span, window, stored) == attends(span, window, stored) - 1


def test_without_a_bound_everything_before_is_attended_to() -> None:
    # 3 new tokens over 4: 5 + 6 + 7
    assert attended_pairs(Span.FULL, None, new=3, stored=4) == 18
    assert visible_pairs(Span.FULL, None, new=3, stored=4) == 21
    assert stored_attended(Span.FULL, None, 4) == 4


@pytest.mark.parametrize("span", BOUNDED)
def test_what_is_visible_is_never_less_than_what_counts(span: Span) -> None:
    for new, stored in ((1, 0), (1, 9), (7, 3), (16, 16)):
        useful = attended_pairs(span, 4, new=new, stored=stored)
        assert visible_pairs(span, 4, new=new, stored=stored) >= useful
