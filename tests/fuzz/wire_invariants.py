"""What must hold for the wire parser whatever bytes come: split invariance, order, counts and size."""

import hashlib
import json
import random
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from assay.analysis.errors import AnalysisError
from assay.analysis.interchange import read_attempts, wire_rows
from assay.analysis.wire.attempt import Attempt, AttemptIds
from assay.analysis.wire.attempt_reader import AttemptReader
from assay.analysis.wire.declared import Declared
from assay.analysis.wire.dialects.table import DIALECTS
from assay.analysis.wire.reasoning_tags import ReasoningTags
from runners.protocol.events import WireKind

DECLARATIONS = (
    Declared(),
    *(Declared(dialect=name) for name in DIALECTS),
    Declared(reasoning_tags=ReasoningTags(opens="<think>", closes="</think>")),
)
_STEP_NS = 1000


def check(data: bytes) -> None:
    """Raise AssertionError if an invariant is broken; anything but an AnalysisError is a crash."""
    if data.startswith(b'{"attempt_id"'):
        _check_recorded(data)
        return
    draw = random.Random(hashlib.sha256(data).digest())  # the same bytes are always cut alike
    for declared in (DECLARATIONS[0], draw.choice(DECLARATIONS[1:])):
        whole = read([data], declared)
        _check_facts(whole, len(data))
        for pieces in (_cut(data, draw), _bytewise(data)):
            split = read(pieces, declared)
            _check_facts(split, len(data))
            assert answers(split) == answers(whole)
            if data.startswith(b"HTTP/"):
                _check_reads_in_one_go(pieces, declared, draw)


def read(pieces: Iterable[bytes], declared: Declared = DECLARATIONS[0]) -> Attempt:
    """One attempt from these reads, each a step later; then the connection closes."""
    reader = AttemptReader(AttemptIds(attempt_id="a"), "c", declared)
    reader.mark(WireKind.sent, 0)
    raw_http: bool | None = None
    held = b""
    t_ns = 0
    for piece in pieces:
        t_ns += _STEP_NS
        if raw_http is None:  # five bytes tell a whole HTTP response from a bare body
            held += piece
            if len(held) < 5:
                continue
            raw_http, piece = held.startswith(b"HTTP/"), held
        reader.read(t_ns, piece, raw_http=raw_http)
    if raw_http is None:
        reader.read(t_ns, held, raw_http=False)
    reader.mark(WireKind.closed, t_ns + _STEP_NS)
    return reader.finish()


def _check_reads_in_one_go(
    pieces: Sequence[bytes], declared: Declared, draw: random.Random
) -> None:
    """Many reads of a response at once say, instants included, what they say one by one."""
    times = [_STEP_NS * n for n in range(1, len(pieces) + 1)]
    gave_up = draw.choice((None, draw.choice(times)))
    one, other = (
        AttemptReader(AttemptIds(attempt_id="a"), "c", declared),
        AttemptReader(AttemptIds(attempt_id="a"), "c", declared),
    )
    for reader in (one, other):
        reader.mark(WireKind.sent, 0)
        if gave_up is not None:
            reader.mark(WireKind.cancel, gave_up)
    for t_ns, piece in zip(times, pieces, strict=True):
        one.read(t_ns, piece, raw_http=True)
    half = draw.randrange(len(pieces) + 1)
    other.read_responses(times[:half], pieces[:half])
    other.read_responses(times[half:], pieces[half:])
    one.mark(WireKind.closed, times[-1] + _STEP_NS)
    other.mark(WireKind.closed, times[-1] + _STEP_NS)
    first, second = one.finish(), other.finish()
    assert answers(first) == answers(second)
    assert instants(first) == instants(second)


def instants(attempt: Attempt) -> list[Any]:
    """Every time of an attempt."""
    reply = attempt.reply
    return [
        *(attempt.first_byte_ns, attempt.headers_ns, attempt.body_end_ns, attempt.decided_ns),
        *(attempt.late_bytes, attempt.late_chunks, reply.done_marker_ns, reply.finish_ns),
        *(reply.last_read_ns, reply.first_visible_ns, reply.error_ns),
        list(reply.chunk_times_ns),
        list(reply.bare_choice_times_ns),
    ]


def answers(attempt: Attempt) -> dict[str, Any]:
    """Everything that must not depend on how the bytes were split; times do."""
    reply = attempt.reply
    return {
        "state": attempt.state,
        "failure": attempt.failure,
        "status": attempt.status,
        "headers": attempt.headers,
        "ended": attempt.body_end_ns is not None,
        "dialect": reply.dialect,
        "events": reply.events,
        "classes": dict(sorted(reply.class_counts.items())),
        "choices": reply.choices(),
        "reasoning": reply.reasoning_text,
        "refusal": reply.refusal_text,
        "tools": reply.tool_calls,
        "finish": reply.finish,
        "chunks": len(reply.chunk_times_ns),
        "chunk_tokens": list(reply.chunk_tokens),
        "ids": reply.token_ids,
        "usage": (reply.usage_tokens, reply.prompt_tokens, reply.cached_tokens, reply.usage_form),
        "error": reply.error_words,
    }


def _check_facts(attempt: Attempt, size: int) -> None:
    reply = attempt.reply
    times = reply.chunk_times_ns
    assert all(a <= b for a, b in pairwise(times)), "chunk times go back"
    assert len(times) == len(reply.chunk_tokens)
    first_byte, first, visible = (
        attempt.first_byte_ns,
        reply.first_content_ns,
        reply.first_visible_ns,
    )
    assert first is None or (first_byte is not None and first_byte <= first == times[0])
    assert visible is None or (first is not None and first <= visible <= times[-1])
    counts = [reply.token_ids, reply.usage_tokens, reply.prompt_tokens, reply.cached_tokens]
    counts += [t for t in reply.chunk_tokens if t is not None]
    assert all(count is None or count >= 0 for count in counts), "a negative count"
    # Without compression nothing that is kept may be larger than what came.
    if "content-encoding" not in attempt.headers:
        words = [*reply.generated_texts(), *(call.arguments for call in reply.tool_calls)]
        assert sum(map(len, words)) <= size, "more text than bytes"
        assert len(times) <= size
    json.dumps(_published(attempt), ensure_ascii=False, allow_nan=False).encode()


def _published(attempt: Attempt) -> list[Any]:
    reply = attempt.reply
    calls = [[c.id, c.name, c.arguments] for c in reply.tool_calls]
    texts = [*reply.choices().values(), reply.reasoning_text, reply.refusal_text]
    return [attempt.failure, texts, calls, list(reply.finish.values()), attempt.headers]


def _check_recorded(data: bytes) -> None:
    lines = data.split(b"\n")
    try:
        attempts = read_attempts(wire_rows(lines, file="w.jsonl"), file="w.jsonl")
    except AnalysisError as error:
        str(error).encode()
        return
    for attempt in attempts:
        json.dumps([attempt.attempt_id, _published(attempt)], ensure_ascii=False).encode()


def _cut(data: bytes, draw: random.Random) -> Sequence[bytes]:
    count = min(len(data), draw.choice((1, 3, 20)))
    edges = [0, *sorted(draw.sample(range(len(data)), count)), len(data)] if data else [0, 0]
    return [data[a:b] for a, b in pairwise(edges)]


def _bytewise(data: bytes) -> Sequence[bytes]:
    """Byte by byte, as far as that is quick."""
    few = data[:500]
    return [*(few[i : i + 1] for i in range(len(few))), data[len(few) :]]
