"""Embeddings, reranks and scores: replies and metrics of their own, no aggregate with generation."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from assay.analysis.call_types import one_call_type
from assay.analysis.errors import ClaimRefused
from assay.analysis.figures import Figures
from assay.analysis.group_aggregates import group_aggregates, group_of
from assay.analysis.load_windows import LoadWindow
from assay.analysis.rates import ServiceLevels
from assay.analysis.recorded import RecordedStream, interpret_recorded
from assay.analysis.window import Window
from assay.analysis.wire.scoring import Scored, read_scored
from experiments.schema.workload import CallType

MS = 1_000_000
EMBEDDED = {
    "object": "list",
    "data": [{"object": "embedding", "index": i, "embedding": [0.6, 0.8]} for i in range(4)],
    "usage": {
        "prompt_tokens": 30,
        "total_tokens": 30,
        "prompt_tokens_details": {"cached_tokens": 6},
    },
}
RANKED = {
    "results": [{"index": 1, "document": {"text": "x"}, "relevance_score": 0.5}],
    "usage": {"prompt_tokens": 10, "total_tokens": 10},
}
ANSWERED = {
    "object": "chat.completion",
    "choices": [{"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}],
    "usage": {
        "prompt_tokens": 8,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 2},
    },
}


def call(
    name: str, sent_ms: int, end_ms: int, reply: dict[str, Any], cut: int = 0
) -> Iterator[str]:
    """A call that is scheduled 10 ms before it is sent, its reply arriving whole at the end."""
    text = json.dumps(reply)
    rows: list[tuple[str, int, dict[str, Any]]] = [
        ("scheduled", sent_ms - 10, {}),
        ("sent", sent_ms, {}),
        ("headers", end_ms - 1, {"status": 200}),
        ("read", end_ms, {"text": text[: len(text) - cut]}),
        ("closed", end_ms, {}),
    ]
    for kind, at_ms, more in rows:
        yield json.dumps({"attempt_id": name, "kind": kind, "t_ns": at_ms * MS, **more})


def read(*calls: Iterator[str], **options: Any) -> Any:
    lines = [line for one in calls for line in one]
    events = [
        {"event": "queued", "t_ns": 102 * MS, "attempt_id": "e1"},
        {"event": "scheduled", "t_ns": 105 * MS, "attempt_id": "e1"},
        {"event": "finished", "t_ns": 140 * MS, "attempt_id": "e1"},
    ]
    stream = RecordedStream(lines, [json.dumps(e) for e in events], wire_file="wire.jsonl")
    return interpret_recorded(stream, **options)


def metrics(document: Any, name: str) -> dict[str, Any]:
    (found,) = [a for a in document["attempts"] if a["attempt_id"] == name]
    return dict(found["metrics"])


def value(document: Any, rule: str, statistic: str, words: str) -> Any:
    found = [
        a["value"]
        for a in document["aggregates"]
        if (a["rule"], a["statistic"]) == (rule, statistic) and words in a["population"]
    ]
    assert len(found) == 1, (rule, statistic, words, found)
    return found[0]


@pytest.mark.parametrize(
    ("document", "wanted"),
    [
        (EMBEDDED, Scored(call_type=CallType.embedding, items=4, dimensions=2)),
        (RANKED, Scored(call_type=CallType.rerank, items=1)),
        ({"results": []}, Scored(call_type=CallType.rerank, items=0)),
        (
            {"data": [{"object": "score", "index": 0, "score": 0.1}]},
            Scored(call_type=CallType.score, items=1),
        ),
        (
            {"data": [{"object": "embedding", "embedding": "AACAPw=="}]},
            Scored(call_type=CallType.embedding, items=1),
        ),
        (ANSWERED, None),
        ({"object": "list", "data": [{"id": "m", "object": "model"}]}, None),
        ({"object": "list", "data": []}, None),
        ({"results": [{"index": 0}]}, None),
        ([EMBEDDED], None),
    ],
)
def test_a_scoring_reply_is_known_by_its_form(document: Any, wanted: Scored | None) -> None:
    assert read_scored(document) == wanted


def test_a_scoring_call_is_complete_when_its_document_is() -> None:
    document = read(call("e1", 100, 150, EMBEDDED), call("cut", 200, 250, EMBEDDED, cut=5))

    assert [a["client_state"] for a in document["attempts"]] == ["completed", "failed"]
    assert document["attempts"][1]["failure"].startswith("parse")
    first = document["attempts"][0]
    assert first["prompt_tokens"] == 30
    assert first["cached_tokens"] == 6
    assert first["text"] == ""
    assert first["timestamps_ns"]["first_content_event"] is None


@pytest.mark.req("1.06")
def test_a_scoring_call_by_hand_in_metrics_of_its_own() -> None:
    found = metrics(read(call("e1", 100, 150, EMBEDDED)), "e1")

    worked = {
        "latency.scoring.client": 0.050,  # 150 - 100
        "latency.scoring.from_scheduled": 0.060,  # 150 - 90
        "latency.scoring.per_item": 0.0125,  # 50 / 4 items
        "queue.scoring.server": 0.003,  # 105 - 102
        "compute.scoring.server": 0.035,  # 140 - 105
    }
    for rule, seconds in worked.items():
        assert found[rule]["value"] == pytest.approx(seconds), rule
    for rule in ("e2e.client", "ttft.first_byte.client", "tpot.done", "queue.server"):
        assert found[rule]["absent"] == "no metric of calls of type embedding"


@pytest.mark.req("1.06")
def test_calls_of_two_types_are_aggregated_apart() -> None:
    document = read(
        call("e1", 100, 150, EMBEDDED),
        call("g1", 100, 180, ANSWERED),
        call("e2", 200, 270, EMBEDDED),
        window=Window(from_ns=0, to_ns=500 * MS, chosen="asked for"),
    )

    # (50 + 70) / 2 ms of embeddings, 80 ms of the one generation
    assert value(document, "latency.scoring.client", "mean", "embedding calls") == pytest.approx(
        0.060
    )
    assert value(document, "e2e.client", "mean", "generation calls") == pytest.approx(0.080)
    assert value(document, "throughput.scoring.items", "rate", "embedding calls") == 16.0  # 8 / 0.5
    # 60 / 0.5
    assert value(document, "throughput.scoring.input_tokens", "rate", "embedding calls") == 120.0
    assert value(document, "throughput.scoring.requests", "rate", "embedding calls") == 4.0
    assert value(document, "throughput.requests", "rate", "generation calls") == 2.0
    for entry in document["aggregates"]:
        if entry["denominator"].startswith(("attempts", "requests", "samples", "window")):
            kinds = [k for k in ("embedding calls", "generation calls") if k in entry["population"]]
            assert len(kinds) == 1, entry


@pytest.mark.forbids
@pytest.mark.req("1.06")
def test_one_aggregate_over_two_types_of_call_is_refused() -> None:
    lines = [*call("e1", 100, 150, EMBEDDED), *call("g1", 100, 180, ANSWERED)]
    attempts = RecordedStream(lines, wire_file="wire.jsonl").attempts
    window = Window(from_ns=0, to_ns=500 * MS, chosen="asked for")
    both = group_of(attempts, client_level="E1", server_level="E1", seed=0)

    with pytest.raises(ClaimRefused, match="calls of types embedding, generation"):
        one_call_type(attempts, field="x")
    with pytest.raises(ClaimRefused, match="attempts of an aggregate"):
        group_aggregates(
            both,
            Figures(),
            [LoadWindow(window=window)],
            asked=None,
            slo=ServiceLevels(),
            offered=None,
        )


def test_goodput_of_a_scoring_call_knows_no_token_times() -> None:
    calls = (("e1", 100, 150), ("e2", 200, 270))
    with_tokens = read(
        *(call(n, s, e, EMBEDDED) for n, s, e in calls), slo=ServiceLevels(ttft_s=1.0, e2e_s=0.06)
    )
    tokens_alone = read(
        *(call(n, s, e, EMBEDDED) for n, s, e in calls), slo=ServiceLevels(ttft_s=1.0)
    )

    # 50 ms holds 60 ms, 70 ms does not
    assert value(with_tokens, "goodput.ratio", "ratio", "held: e2e <= 0.06 s") == 0.5
    assert [a for a in tokens_alone["aggregates"] if a["rule"].startswith("goodput")] == []


@pytest.mark.req("14.01")
def test_the_cached_share_is_over_prompt_tokens_as_the_server_counted_them() -> None:
    known = read(call("e1", 100, 150, EMBEDDED), call("g1", 100, 180, ANSWERED))
    silent = read(call("e1", 100, 150, RANKED))

    # 6 of 30 and 2 of 8
    assert value(known, "prompt.cached_share", "ratio", "embedding calls") == 0.2
    assert value(known, "prompt.cached_share", "ratio", "generation calls") == 0.25
    (entry,) = [a for a in silent["aggregates"] if a["rule"] == "prompt.cached_share"]
    assert entry["value"] is None
    assert entry["absent"] == "the server reported no cached tokens for 1 of 1"
