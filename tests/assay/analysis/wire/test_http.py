"""HTTP framing of raw reads."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.wire.http import ResponseParser

CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n"
)


def test_a_chunked_body_loses_its_framing_and_ends_by_itself() -> None:
    parser = ResponseParser()

    body = parser.feed(CHUNKED)

    assert (body, parser.status, parser.complete) == (b"hello, world", 200, True)
    assert not parser.until_close


def test_a_length_ends_a_body_and_more_is_surplus() -> None:
    parser = ResponseParser()

    body = parser.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")

    assert (body, parser.complete) == (b"hi", True)
    assert parser.feed(b"more") == b""
    assert parser.surplus_bytes == 4


def test_without_length_only_the_connection_ends_a_body() -> None:
    parser = ResponseParser()

    assert parser.feed(b"HTTP/1.1 200 OK\r\n\r\nhi") == b"hi"
    assert parser.feed(b" there") == b" there"
    assert parser.until_close
    assert not parser.complete


def test_an_informational_response_is_passed_over() -> None:
    parser = ResponseParser()

    body = parser.feed(b"HTTP/1.1 100 Continue\r\n\r\n" + CHUNKED)

    assert (parser.status, body) == (200, b"hello, world")


def test_broken_framing_is_a_problem_with_the_parser_s_words() -> None:
    parser = ResponseParser()

    parser.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")

    assert parser.problem is not None
    assert parser.problem.startswith("HTTP framing: ")
    assert not parser.complete


@given(st.sets(st.integers(1, len(CHUNKED) - 1), max_size=20))
def test_any_split_gives_the_same_body(cuts: set[int]) -> None:
    parser = ResponseParser()
    edges = [0, *sorted(cuts), len(CHUNKED)]

    body = b"".join(parser.feed(CHUNKED[a:b]) for a, b in pairwise(edges))

    assert body == b"hello, world"
    assert parser.complete
