"""Chunks counted while they arrive are those that the interpretation counts."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.load.content_chunks import ContentChunkCounter, is_content
from tests.fuzz.wire_invariants import read

DIALECTS = Path(__file__).parents[2] / "data" / "fixtures" / "dialects"
STREAMS = sorted(path.name for path in DIALECTS.glob("*.sse"))


@pytest.mark.parametrize("name", STREAMS)
@given(drawn=st.data())
@settings(deadline=None, max_examples=20)
def test_it_counts_what_the_interpretation_counts(name: str, drawn: st.DataObject) -> None:
    body = (DIALECTS / name).read_bytes()
    cuts = sorted(drawn.draw(st.sets(st.integers(1, len(body) - 1), max_size=12)))
    counter = ContentChunkCounter()

    for a, b in pairwise([0, *cuts, len(body)]):
        counter.feed(body[a:b])

    assert counter.count == len(read([body]).reply.chunk_times_ns)


@pytest.mark.parametrize("data", [b"[DONE]", b"[1]", b"[" * 5000, b'{"type":5}', b'{"delta":{}}'])
def test_what_is_no_delta_is_none(data: bytes) -> None:
    assert not is_content(data)
