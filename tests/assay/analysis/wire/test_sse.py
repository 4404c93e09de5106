"""The event stream standard, and that no split of the bytes changes what they say."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.wire.sse import EventStream, ServerSentEvent


def events(*pieces: bytes) -> list[tuple[str, str]]:
    stream = EventStream()
    return [(e.type, e.data) for piece in pieces for e in stream.feed(piece)]


def data(*pieces: bytes) -> list[str]:
    return [text for _, text in events(*pieces)]


@pytest.mark.parametrize("newline", [b"\n", b"\r", b"\r\n"])
def test_every_line_end_of_the_standard_ends_a_line(newline: bytes) -> None:
    assert data(b"data: a" + newline + b"data: b" + newline * 2) == ["a\nb"]


def test_a_line_feed_that_opens_the_next_read_belongs_to_the_carriage_return_before_it() -> None:
    assert data(b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n") == ["a\nb"]


def test_an_event_is_complete_with_the_carriage_return_of_its_blank_line() -> None:
    stream = EventStream()

    assert [e.data for e in stream.feed(b"data: a\r\n\r")] == ["a"]
    assert stream.feed(b"\n") == []


def test_comments_are_counted_and_say_nothing() -> None:
    stream = EventStream()

    assert stream.feed(b": ping\n\n:\n\n") == []
    assert stream.comments == 2


def test_one_blank_after_the_colon_is_dropped_and_none_is_needed() -> None:
    assert data(b"data:a\n\n", b"data:  b\n\n") == ["a", " b"]


def test_several_data_lines_are_joined_by_a_line_feed() -> None:
    assert data(b"data: a\ndata\ndata: b\n\n") == ["a\n\nb"]


def test_the_event_type_is_of_one_event_only() -> None:
    assert events(b"event: error\ndata: a\n\ndata: b\n\n") == [("error", "a"), ("", "b")]


def test_an_event_without_data_is_not_dispatched() -> None:
    assert events(b"event: x\nid: 3\nretry: 10\n\n") == []


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_leading_byte_order_mark_is_dropped_though_split(cut: int) -> None:
    stream = b"\xef\xbb\xbfdata: a\n\n"

    assert data(stream[:cut], stream[cut:]) == ["a"]


def test_a_character_split_over_two_reads_is_whole_again() -> None:
    whole = "data: 推\n\n".encode()

    assert data(whole[:7], whole[7:8], whole[8:]) == ["推"]


def test_bytes_that_are_no_utf8_become_replacement_characters() -> None:
    assert data(b"data: \xff\n\n") == ["�"]


def test_an_event_may_be_of_any_size() -> None:
    stream = EventStream()
    piece = b"x" * 65_536

    stream.feed(b"data: ")
    for _ in range(64):
        assert stream.feed(piece) == []
    (event,) = stream.feed(b"\n\n")

    assert len(event.data) == 64 * 65_536


def test_what_the_end_cut_off_is_offered_and_not_dispatched() -> None:
    stream = EventStream()

    assert stream.feed(b"data: a\n\ndata: [DONE]") == [ServerSentEvent(b"a")]
    assert stream.pending() == ServerSentEvent(b"[DONE]")
    assert EventStream().pending() is None


_LINES = st.sampled_from(
    [
        b"data: a",
        b"data:b",
        b"data",
        b": c",
        b"event: e",
        b"id: 1",
        "data: 推理".encode(),
        b"",
        b"",
        b"",
    ]
)
_ENDS = st.sampled_from([b"\n", b"\r", b"\r\n"])


@given(st.lists(st.tuples(_LINES, _ENDS), max_size=30), st.data())
def test_any_split_of_the_same_bytes_gives_the_same_events(
    lines: list[tuple[bytes, bytes]], draw: st.DataObject
) -> None:
    whole = b"".join(line + end for line, end in lines)
    cuts = sorted(draw.draw(st.sets(st.integers(0, len(whole)), max_size=12)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

    assert events(*pieces) == events(whole)


@given(st.binary(max_size=200))
def test_no_bytes_break_the_parser(raw: bytes) -> None:
    by_byte = events(*(raw[i : i + 1] for i in range(len(raw))))

    assert by_byte == events(raw)


def test_id_and_retry_are_what_the_stream_last_said() -> None:
    stream = EventStream()

    stream.feed(b"id: 1\nretry: 250\ndata: a\n\nid: 2\nretry: soon\n")
    assert (stream.last_id, stream.retry_ms) == ("1", 250)  # 2 waits for its blank line
    stream.feed(b"\nid: 3\0\ndata: b\n\n")
    assert stream.last_id == "2"


def test_ten_megabytes_in_small_reads_take_time_in_proportion() -> None:
    def seconds(size: int) -> float:
        stream = EventStream()
        piece = b"x" * 64
        started = time.process_time()
        stream.feed(b"data: a\n\ndata: ")
        for _ in range(size // len(piece)):
            stream.feed(piece)
        (event,) = stream.feed(b"\n\n")
        assert len(event.raw) == size
        return time.process_time() - started

    small = min(seconds(1_048_576) for _ in range(3))

    # 10 times the bytes; time that grew with their square would be 100 times as much.
    assert seconds(10_485_760) < 40 * small
