"""The quick way of reading an ordinary delta says exactly what the full way says."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assay.analysis.wire import alike, forms, stream
from assay.analysis.wire.attempt import Attempt
from assay.analysis.wire.declared import Declared
from assay.analysis.wire.forms import template_of
from assay.analysis.wire.stream import ReplyReader
from assay.analysis.wire.template import is_literal
from tests.fuzz.wire_invariants import answers, read

RAW = b'{"choices":[{"index":0,"delta":{"content":"a"},"token_ids":[1]}]}'


def chunk(text: str, ids: list[int] | None, **more: Any) -> bytes:
    choice: dict[str, Any] = {"index": 0, "delta": {"content": text}} | more
    if ids is not None:
        choice["token_ids"] = ids
    return b"data: " + json.dumps({"choices": [choice]}, ensure_ascii=False).encode() + b"\n\n"


@pytest.mark.parametrize(
    ("raw", "match"),
    [
        (RAW, ("a", 1)),
        (RAW.replace(b'"a"', b'" \xe6\x8e\xa8"').replace(b"[1]", b"[1, 2,3]"), (" 推", 3)),
        (RAW.replace(b"[1]", b"[]"), ("a", 0)),
        (RAW.replace(b'"a"', rb'"\n"'), None),  # an escape
        (RAW.replace(b'"a"', b'""'), None),  # no content
        (RAW.replace(b'"a"', b'"\xff"'), None),  # no UTF-8
        (RAW.replace(b"[1]", b"[01]"), None),  # no JSON
        (RAW.replace(b'"index":0', b'"index":1'), None),
        (RAW + b" ", None),
    ],
)
def test_only_text_and_ids_may_differ(raw: bytes, match: tuple[str, int] | None) -> None:
    template = template_of(RAW, "a", 1)

    assert template is not None
    assert template.of_event(raw) == match
    assert template.of_read(b"data: " + raw + b"\n\n") == match


STAMPED = b'{"created":1700000000,"choices":[{"delta":{"content":"a"}}],"sent_ns":81234000000001}'


@pytest.mark.parametrize(
    ("raw", "match"),
    [
        (STAMPED.replace(b"0001", b"9" * 4).replace(b'"a"', b'"b"'), ("b", None)),
        (STAMPED.replace(b"1700000000", b"1700000001"), ("a", None)),
        (STAMPED.replace(b":8123", b":-8123"), None),
        (STAMPED.replace(b":8123", b":08123"), None),  # no JSON
        (STAMPED.replace(b"81234000000001", b"81"), None),  # too short for a time
        (STAMPED.replace(b"sent_ns", b"tokens"), None),  # another name
    ],
)
def test_the_server_s_own_times_may_differ_too(raw: bytes, match: tuple[str, None] | None) -> None:
    template = template_of(STAMPED, "a", None)

    assert template is not None
    assert template.of_event(raw) == match


@pytest.mark.parametrize(
    "raw",
    [
        b'{"choices":[{"delta":{"content":"a","reasoning":"b"}}]}',  # two texts
        b'{"choices":[{"delta":{"content":"a"}},{"text":"a"}]}',
        b'{"choices":[{"delta":{"content" : "a"}}]}',
    ],
)
def test_a_payload_of_another_form_makes_no_template(raw: bytes) -> None:
    assert template_of(raw, "a", None) is None


def named(name: bytes, text: bytes = b"a") -> bytes:
    return b'{"id":"%b","created":1700000000,"choices":[{"delta":{"content":"%b"}}]}' % (name, text)


@pytest.mark.parametrize(
    ("raw", "served"),
    [
        (named(b"reply-2"), True),
        (named(b""), True),
        (named(b"reply-2", b" \xe6\x8e\xa8"), True),
        (named(rb"re\"ply", b"a"), False),  # an escape in the name
        (named("réply".encode(), b"a"), True),
        (named(b"reply-2").replace(b"choices", b"choiceS"), False),
        (named(b"reply-2").replace(b"1700000000", b"1"), False),
    ],
)
def test_a_form_serves_other_replies_of_the_same_server(raw: bytes, served: bool) -> None:
    text = json.loads(raw)
    words = (text.get("choices") or text["choiceS"])[0]["delta"]["content"]
    forms._forms.clear()
    assert template_of(named(b"reply-1"), "a", None) is not None

    found = template_of(raw, words, None)

    assert found is not None
    assert found.has_served is served
    assert found.of_event(raw) == (words, None)
    assert found.of_event(named(b"reply-1")) is None  # a template is one reply's


_CHUNKS = st.one_of(
    st.builds(
        chunk,
        st.one_of(st.text(max_size=5), st.sampled_from(["a", " b", "推", '"', "\n", ""])),
        st.one_of(st.none(), st.lists(st.integers(0, 99), max_size=3)),
    ),
    st.builds(chunk, st.just("x"), st.none(), finish_reason=st.sampled_from([None, "stop"])),
    st.sampled_from([b": ping\n\n", b"event: error\ndata: x\n\n", b"data: [DONE]\n\n"]),
)


@given(st.lists(_CHUNKS, min_size=1, max_size=20))
@example([chunk("a", [1]), chunk("b", [2, 3]), b"event: error\n" + chunk("c", [4])])
def test_the_quick_way_and_the_full_way_agree(chunks: list[bytes]) -> None:
    quick = read(chunks)
    full = _without_templates(chunks)

    assert answers(quick) == answers(full)
    assert list(quick.reply.chunk_times_ns) == list(full.reply.chunk_times_ns)


def _without_templates(chunks: list[bytes]) -> Attempt:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alike, "template_of", lambda raw, text, ids, said: None)
        patch.setattr(stream, "known", lambda raw, dialect: None)
        return read(chunks)


def stamped(text: str, stamp: str) -> bytes:
    delta = json.dumps({"delta": {"content": text}}, ensure_ascii=False)
    line = f'data: {{"id":"r","created":1700000000,"choices":[{delta}],"sent_ns":{stamp}}}\n\n'
    return line.encode()


_STAMPED = st.builds(
    stamped,
    st.sampled_from(["a", " b", "推", '"', "\\", "\n", ""]),
    # another time, one of another length, one that is no JSON, one too short for a time
    st.sampled_from(
        ["81234000000001", "81234000000002", "812340000000017", "01234000000001", "81"]
    ),
)
_CUT = "推".encode()[:2]
_READS = st.one_of(
    _CHUNKS,
    _STAMPED,
    st.builds(bytes.__add__, _STAMPED, _STAMPED),
    st.sampled_from(
        [
            stamped("a", "81234000000001").replace(b'"a"', b'"' + _CUT + b'"'),
            stamped("a", "81234000000001").replace(b"created", b"creatEd"),
            stamped("a", "81234000000001").replace(b"\n\n", b"\n\n\n"),
            stamped("a", "81234000000001").replace(b"\n\n", b"\r\n\r\n"),
            b"data: {\ndata: }\n\n",
            b'data: {"choices"',
        ]
    ),
)


@given(st.lists(_READS, min_size=1, max_size=30))
@example([stamped("a", "81234000000001")] * 40)
@example([stamped("a", "81234000000001"), b": ping\n\n", *[stamped("b", "81234000000002")] * 3])
def test_many_reads_at_once_say_what_they_say_one_by_one(reads: list[bytes]) -> None:
    times = [1000 * n for n in range(1, len(reads) + 1)]
    one, other = ReplyReader(), ReplyReader()

    for t_ns, data in zip(times, reads, strict=True):
        one.read(t_ns, data)
    other.read_many(times, reads)

    for reply in (one, other):
        reply.end()
        reply.settle()
    for said in _SAID:
        assert getattr(other, said) == getattr(one, said), said


_SAID = (
    *("text", "events", "class_counts", "chunk_times_ns", "chunk_tokens", "body_bytes", "problem"),
    *("first_content_ns", "last_read_ns", "done_marker_ns", "finish", "token_ids", "error_ns"),
)


@given(st.lists(_STAMPED, min_size=1, max_size=12), st.booleans())
@example([stamped("a", "81234000000001"), stamped("b", "81234000000002")], True)
@example([stamped("a", "81234000000001"), stamped("b", "01234000000002")], True)
def test_looking_at_all_events_together_finds_what_looking_at_each_finds(
    events: list[bytes], has_stamp: bool
) -> None:
    first = stamped("a", "81234000000001")
    if not has_stamp:
        events = [event.replace(b',"sent_ns"', b'},{"tokens"') for event in events]
        first = first.replace(b',"sent_ns"', b'},{"tokens"')
    template = template_of(first[6:-2], "a", None)
    assert template is not None
    template.of_event(first[6:-2])
    one_by_one = template._stamped if template._middle.before_stamp else template._bare

    together, apart = template._at_once(events), one_by_one(events)

    if len(apart) == len(events):
        assert together == apart
    else:
        assert not together or not all(map(is_literal, together))  # no text: not taken either


def _of_reply(name: bytes, text: str, more: bytes) -> bytes:
    words = json.dumps(text, ensure_ascii=False).encode()
    return b'{"id":"%b","choices":[{"index":0,"delta":{%b"content":%b}%b]}' % (
        name,
        b'"role":"assistant",' if more == b"role" else b"",
        words,
        {b"": b"}", b"role": b"}", b"stop": b',"finish_reason":"stop"}'}[more],
    )


_ENDINGS = [b"", b"", b"role", b"stop"]
_NAMES_OF_REPLIES = st.one_of(
    st.sampled_from(
        [b"r-1", b"r-2", b"", rb"r\"", rb"r\u0041", b"r\n", b"r\x01", b"r\xff", "é".encode()]
    ),
    st.binary(max_size=4).filter(lambda name: b"\n" not in name and b"\r" not in name),
)
_REPLIES = st.lists(
    st.tuples(
        _NAMES_OF_REPLIES,
        st.lists(
            st.tuples(st.sampled_from(["a", " b", "推", '"', "\x02"]), st.sampled_from(_ENDINGS)),
            min_size=1,
            max_size=5,
        ),
        st.sampled_from([None, "choices", "messages"]),
    ),
    min_size=1,
    max_size=4,
)


@given(_REPLIES)
@example([(b"r-1", [("a", b"role"), ("b", b""), ("c", b"stop")], None)] * 2)
@example([(b"r-1", [("a", b"stop")], None), (b"r\x01", [("a", b"stop")], None)])
def test_a_payload_of_a_known_form_says_what_its_full_reading_says(
    replies: list[tuple[bytes, list[tuple[str, bytes]], str | None]],
) -> None:
    forms._forms.clear()
    for name, chunks, dialect in replies:
        reads = [b"data: " + _of_reply(name, *chunk) + b"\n\n" for chunk in chunks]
        quick = _reply_of(reads, dialect)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stream, "known", lambda raw, dialect: None)
            full = _reply_of(reads, dialect)
        for said in (*_SAID, "dialect", "dialect_by", "finish_ns", "first_visible_ns"):
            assert getattr(quick, said) == getattr(full, said), said


def _reply_of(reads: list[bytes], dialect: str | None) -> ReplyReader:
    reply = ReplyReader(Declared(dialect=dialect))
    for t_ns, data in enumerate(reads, start=1):
        reply.read(t_ns, data)
    reply.end()
    reply.settle()
    return reply
