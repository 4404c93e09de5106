"""Compressed bodies: read as they arrive, with the times of the network reads."""

import gzip
import zlib

import pytest

from assay.analysis.wire.encoding import BodyDecoder
from runners.protocol.events import ClientState
from tests.fuzz.wire_invariants import read

FIRST = b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'
LAST = b'data: {"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}]}\n\n'


def head(encoding: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\n\r\n".encode()


@pytest.mark.req("6.12")
def test_each_event_of_a_compressed_stream_has_the_time_of_its_own_read() -> None:
    packer = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
    first = packer.compress(FIRST) + packer.flush(zlib.Z_SYNC_FLUSH)
    last = packer.compress(LAST) + packer.flush()

    attempt = read([head("gzip"), first, last])

    assert attempt.state is ClientState.completed
    assert list(attempt.reply.chunk_times_ns) == [2_000, 3_000]
    assert attempt.headers["content-encoding"] == "gzip"


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress(FIRST) + gzip.compress(LAST)),  # two members
        ("x-gzip", gzip.compress(FIRST + LAST)),
        ("deflate", zlib.compress(FIRST + LAST)),
        ("deflate", zlib.compress(FIRST + LAST, wbits=-15)),  # raw, as some servers send it
    ],
)
def test_gzip_and_deflate_are_read(encoding: str, packed: bytes) -> None:
    attempt = read([head(encoding) + packed])

    assert (attempt.state, attempt.reply.text) == (ClientState.completed, "ab")


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, br"])
def test_an_encoding_that_is_not_read_is_named_and_its_bytes_say_nothing(encoding: str) -> None:
    attempt = read([head(encoding) + FIRST])

    assert attempt.failure == f"parse: content-encoding {encoding} is not read"
    assert attempt.reply.body_bytes == 0


def test_a_compressed_stream_that_was_cut_is_a_parse_failure_with_what_came_before() -> None:
    packer = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
    first = packer.compress(FIRST) + packer.flush(zlib.Z_SYNC_FLUSH)

    attempt = read([head("gzip") + first])

    assert attempt.failure == "parse: content-encoding gzip: the compressed stream was cut"
    assert attempt.reply.text == "a"


def test_what_came_before_damage_does_not_depend_on_the_reads() -> None:
    packer = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
    damaged = packer.compress(FIRST) + packer.flush(zlib.Z_SYNC_FLUSH) + b"\xff\xff\xff\xff"

    whole, split = BodyDecoder("gzip"), BodyDecoder("gzip")
    at_once = whole.feed(damaged)
    in_bytes = b"".join(split.feed(damaged[i : i + 1]) for i in range(len(damaged)))

    assert at_once == in_bytes == FIRST
    assert whole.problem == split.problem


def test_a_small_body_that_would_fill_the_memory_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("assay.analysis.wire.encoding._MOST_BYTES", 10_000)
    decoder = BodyDecoder("gzip")

    decoded = decoder.feed(gzip.compress(b"x" * 10_000_000))

    assert len(decoded) == 10_001
    assert decoder.problem == "content-encoding gzip: more than 10000 bytes decoded"
