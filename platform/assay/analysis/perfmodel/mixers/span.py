"""Which stored tokens a new token attends to, and how many query-key pairs that makes.

Full attention sees all tokens, a sliding window the last W (itself among them), a chunk those since the last
multiple of W, and a choice the W that an index picks. The token at position p (from 0) therefore attends to
p + 1, min(p + 1, W), p mod W + 1 or min(p + 1, W) tokens, itself included.
"""

from enum import StrEnum


class Span(StrEnum):
    """Which stored tokens a new one attends to."""

    FULL = "full"
    SLIDING = "sliding"
    CHUNKED = "chunked"
    CHOSEN = "chosen"


def stored_attended(span: Span, window: int | None, stored: int) -> int:
    """Stored tokens that one new token attends to: the new one is not among them."""
    if window is None:
        return stored
    return stored % window if span is Span.CHUNKED else min(stored, window - 1)


def attended_pairs(span: Span, window: int | None, *, new: int, stored: int) -> int:
    """Query-key pairs of ``new`` tokens over ``stored`` ones, each new token attending to itself."""
    if window is None:
        return new * stored + new * (new + 1) // 2
    if span is Span.CHUNKED:
        return _chunk_pairs(stored + new, window) - _chunk_pairs(stored, window)
    growing = min(max(window - stored, 0), new)
    return growing * stored + growing * (growing + 1) // 2 + (new - growing) * window


def visible_pairs(span: Span, window: int | None, *, new: int, stored: int) -> int:
    """The full rectangle: each new token against every token that any of them attends to.

    An index compares with all tokens but attends to the chosen ones only, so there is no rectangle.
    """
    if window is None:
        return new * (stored + new)
    if span is Span.CHOSEN:
        return attended_pairs(span, window, new=new, stored=stored)
    return new * (stored_attended(span, window, stored) + new)


def _chunk_pairs(tokens: int, window: int) -> int:
    """Pairs of the first ``tokens`` positions: whole triangles, and the last one's part."""
    whole, rest = divmod(tokens, window)
    return whole * window * (window + 1) // 2 + rest * (rest + 1) // 2
