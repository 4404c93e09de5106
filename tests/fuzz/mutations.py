"""Seeds of the wire fuzz run, and mutations that know the form of a stream."""

import gzip
import json
import random
import re
import zipfile
import zlib
from pathlib import Path
from typing import Any

from tests.assay.analysis import recorded_engines

DATA = Path(__file__).parents[1] / "data"
CORPUS = DATA / "fuzz_corpus" / "wire.zip"
_MOST_BYTES = 16_384

TOKENS = (
    *(b"\n", b"\r", b"\r\n", b"\n\n", b"\r\n\r\n", b"\xef\xbb\xbf", b"data:", b"data: ", b": "),
    *(b"event: error\n", b"data: [DONE]\n\n", b"id: 1\n", b"retry: 10\n", b"0\r\n\r\n"),
    *(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", b"Content-Length: 5\r\n"),
    *(b"Transfer-Encoding: chunked\r\n", b"Content-Encoding: gzip\r\n", b"grpc-status: 4\r\n"),
    *(b"<think>", b"</think>", b'"choices":[', b'"delta":{', b'"content":"', b'"token_ids":[1]'),
    *(b'"usage":{"completion_tokens":3}', b'"text":"', b'"error":{"message":"x"}'),
    *(b'"type":"response.output_text.delta"', b'"type":"response.completed"'),
    *(
        b'"type":"content_block_delta"',
        b'"meta_info":{"completion_tokens":2}',
        b'"output_ids":[1,2]',
    ),
    *(b'"finish_reason":"abort"', b"\\ud83d", b"\\ude00", b"\xff", "推".encode(), b"NaN", b"1e999"),
    *(b"[" * 600, b'{"a":' * 600, b"-1", b"9" * 30),
)
_VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**63,
    1e300,
    "",
    "x",
    "\ud800",
    [],
    [None],
    {},
    {"a": 1},
)
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


def seeds() -> list[bytes]:
    """Every recorded exchange as its raw response and as rows; the dialect fixtures bare, framed, packed."""
    found: list[bytes] = []
    for engine, name in recorded_engines.exchanges():
        rows = recorded_engines.rows(engine, name)
        texts = [r["text"].encode() for r in rows if r["kind"] == "read" and "text" in r]
        found.append(b"".join(texts)[:_MOST_BYTES])
        found.append("\n".join(json.dumps(r) for r in rows).encode()[:_MOST_BYTES])
    for path in sorted((DATA / "fixtures" / "dialects").iterdir()):
        if path.suffix in (".sse", ".json"):
            body = path.read_bytes()
            found += [body, framed(body), encoded(body)]
    return found


def framed(body: bytes, step: int = 97) -> bytes:
    pieces = [body[i : i + step] for i in range(0, len(body), step)]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces)
    return _HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"


def encoded(body: bytes) -> bytes:
    packed = gzip.compress(body, mtime=0)
    return _HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed


def corpus() -> list[bytes]:
    """Inputs that earlier runs found interesting."""
    if not CORPUS.is_file():
        return []
    with zipfile.ZipFile(CORPUS) as archive:
        return [archive.read(name) for name in sorted(archive.namelist())]


def mutated(data: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    """One to four changes, at most ``_MOST_BYTES`` long."""
    for _ in range(draw.randint(1, 4)):
        data = draw.choice(_MUTATIONS)(data, draw, others)
    return data[:_MOST_BYTES]


def _place(data: bytes, draw: random.Random) -> int:
    return draw.randint(0, len(data))


def _insert(data: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    at = _place(data, draw)
    return data[:at] + draw.choice(TOKENS) + data[at:]


def _delete(data: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    at = _place(data, draw)
    return data[:at] + data[at + draw.choice((1, 2, 7, 60, 400)) :]


def _repeat(data: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    at = _place(data, draw)
    return data[:at] + data[at : at + draw.choice((1, 10, 300))] * 2 + data[at:]


def _flip(data: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    if not data:
        return data
    at = draw.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << draw.randrange(8))]) + data[at + 1 :]


def _splice(data: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    other = draw.choice(others)
    return data[: _place(data, draw)] + other[_place(other, draw) :]


def _line_ends(data: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    return data.replace(b"\n", draw.choice((b"\r", b"\r\n", b"\n\n")))


def _frame(data: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    return framed(data, draw.choice((1, 10, 500)))


def _encode(data: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    if draw.random() < 0.7:
        return encoded(data)
    packed = zlib.compress(data)
    return _HEAD + b"Content-Encoding: deflate\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed


def _json_value(data: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    """Another value somewhere inside one event's JSON; the framing around it is left as it was."""
    events = list(re.finditer(rb"(?:data: ?|^)(\{[^\r\n]*\})", data, re.MULTILINE))
    if not events:
        return data
    event = draw.choice(events)
    try:
        document = json.loads(event[1])
    except (ValueError, RecursionError):
        return data
    changed = json.dumps(_changed(document, draw)).encode()
    return data[: event.start(1)] + changed + data[event.end(1) :]


def _changed(value: Any, draw: random.Random) -> Any:
    if isinstance(value, dict) and value and draw.random() < 0.85:
        key = draw.choice(list(value))
        return {**value, key: _changed(value[key], draw)}
    if isinstance(value, list) and value and draw.random() < 0.85:
        at = draw.randrange(len(value))
        return [*value[:at], _changed(value[at], draw), *value[at + 1 :]]
    return draw.choice(_VALUES)


_MUTATIONS = (
    _insert, _insert, _delete, _repeat, _flip, _splice, _line_ends, _frame, _encode, _json_value, _json_value,
)  # fmt: skip
