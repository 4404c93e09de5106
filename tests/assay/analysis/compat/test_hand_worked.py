"""Each tool's reading of one recorded stream, worked by hand: the same bytes, four different numbers."""

from collections.abc import Sequence

import pytest

from assay.analysis.absence import Absent
from assay.analysis.aggregates import Scope
from assay.analysis.compat.column_aggregates import of_recorded
from assay.analysis.compat.figures import linear, weighted
from assay.analysis.compat.rows import in_columns
from assay.analysis.compat.table import COLUMNS
from assay.analysis.documents import Aggregate
from assay.analysis.kept import KeptAttempts
from assay.analysis.metrics.compat_rules import COMPAT_RULES
from assay.analysis.wire.attempt import Attempt
from tests.assay.analysis.streams import DONE, attempts, delta, event, read, row, usage

SCOPE = Scope(
    population="attempts",
    denominator="attempts",
    perspective="client",
    clock_domain="c",
    limited_by="E1",
)
# Two replies of three tokens each, b sent 100 ms after a. After the send: role-only event at 10 ms, text at
# 30, 50 and 90 ms, an empty event with the finish reason at 94 ms, usage and [DONE] at 100; b twice as slow.
# c came to nothing: HTTP 503. d said one word (at 20 ms), then an error event, and ended cleanly at 40 ms.
SENT = {"a": 0, "b": 100, "c": 0, "d": 0}


def reply(name: str, slow: float) -> list[dict[str, object]]:
    start = SENT[name]
    pieces = [
        (10.0, delta(role="assistant")),
        (30.0, delta("one")),
        (50.0, delta(" two")),
        (90.0, delta(" three")),
        (94.0, delta(finish="stop")),
        (100.0, usage(3, 7) + DONE),
    ]
    return [
        row("sent", start, name),
        *(read(start + t * slow, text, name) for t, text in pieces),
        row("closed", start + 100 * slow, name, status=200),
    ]


def four() -> Sequence[Attempt]:
    return kept(
        *reply("a", 1),
        *reply("b", 2),
        row("sent", 0, "c"),
        row("headers", 5, "c", status=503),
        row("closed", 5, "c"),
        row("sent", 0, "d"),
        read(20, delta("one"), "d"),
        read(30, event({"error": {"message": "boom"}}), "d"),
        row("closed", 40, "d", status=200),
    )


def kept(*rows: dict[str, object]) -> Sequence[Attempt]:
    return KeptAttempts.of(attempts(*rows))


def found(rule: str, statistic: str) -> Aggregate:
    (entry,) = [
        a for a in of_recorded(four(), SCOPE) if (a["rule"], a["statistic"]) == (rule, statistic)
    ]
    return entry


# a and b are successes for all four. d is one for vllm, GuideLLM and SGLang, which ignore error events. It
# has no usage. Latencies in ms of (a, b[, d]):
HAND_WORKED = {
    # first event with a choice, role-only too: 10, 20, 20 -> 50 / 3
    ("ttft.as_vllm_bench", "mean"): 0.050 / 3,
    # first event with text: 30, 60 (d is an error) -> 45
    ("ttft.as_aiperf", "mean"): 0.045,
    # 30, 60, 20; the first value whose share reaches 0.5 is 30, that which reaches 0.9 is 60
    ("ttft.as_guidellm", "p50"): 0.030,
    ("ttft.as_guidellm", "p90"): 0.060,
    ("ttft.as_sglang_bench", "mean"): 0.110 / 3,
    # to the last event with a choice: 94, 188, 20 -> 302 / 3
    ("e2e.as_vllm_bench", "mean"): 0.302 / 3,
    # to the last text: 90, 180 -> 135; linear p90 = 90 + 0.9 x 90 = 171
    ("e2e.as_aiperf", "mean"): 0.135,
    ("e2e.as_aiperf", "p90"): 0.171,
    # to the end: 100, 200, 40 -> 340 / 3
    ("e2e.as_guidellm", "mean"): 0.340 / 3,
    ("e2e.as_sglang_bench", "mean"): 0.340 / 3,
    # (e2e - ttft) / 2 = (90 - 30) / 2 = 30 and 60 -> 45
    ("tpot.as_aiperf", "mean"): 0.045,
    # weighted by N - 1: a 30 (weight 2), b 60 (weight 2); d has one event, one token by its count: weight 0
    ("tpot.as_guidellm", "mean"): 0.045,
    # weighted by N: a 90 / 3 = 30 (3), b 180 / 3 = 60 (3), d 20 / 1 (1) -> (90 + 180 + 20) / 7
    ("tpot.with_first.as_guidellm", "mean"): 0.290 / 7,
    # gaps 20 20 40 4 | 40 40 80 8 -> 252 / 8
    ("itl.as_vllm_bench", "mean"): 0.252 / 8,
    # gaps 20 40 | 40 80 -> 45
    ("itl.as_aiperf", "mean"): 0.045,
    ("itl.as_sglang_bench", "mean"): 0.045,
    # 3 successes from 0 to b's last event with a choice, 288 ms
    ("throughput.requests.as_vllm_bench", "rate"): 3 / 0.288,
    # 2 valid requests from 0 to b's last text, 280 ms; 6 tokens; 14 prompt tokens
    ("throughput.requests.as_aiperf", "rate"): 2 / 0.280,
    ("throughput.output_tokens.as_aiperf", "rate"): 6 / 0.280,
    ("throughput.total_tokens.as_aiperf", "rate"): 20 / 0.280,
    # 3 ends, 3 + 3 + 1 tokens, from 0 to b's end, 300 ms
    ("throughput.requests.as_guidellm", "rate"): 10.0,
    ("throughput.output_tokens.as_guidellm", "rate"): 7 / 0.300,
    ("throughput.requests.as_sglang_bench", "rate"): 10.0,
    # time-weighted: (100 + 200 + 40) / 300
    ("concurrency.as_guidellm", "mean"): 340 / 300,
    # sum of latencies over the duration: the same here
    ("concurrency.as_sglang_bench", "mean"): 340 / 300,
    # a, b and d all touch the first second, though b began when a ended
    ("concurrency.as_vllm_bench", "max"): 3,
    ("concurrency.as_sglang_bench", "max"): 3,
    # c always; for AIPerf d too
    ("failed.as_vllm_bench", "count"): 1,
    ("failed.as_aiperf", "count"): 2,
    ("failed.as_guidellm", "count"): 1,
    ("failed.as_sglang_bench", "count"): 1,
}
# d has no usage, and vllm and SGLang would take it from the text or from what was asked for.
ABSENT = {
    ("tpot.as_vllm_bench", "mean"): "output tokens of 1 request(s) are unknown",
    ("tpot.as_sglang_bench", "mean"): "output tokens of 1 request(s) are unknown",
    ("throughput.output_tokens.as_vllm_bench", "rate"): "output tokens of 1",
    ("throughput.output_tokens.as_sglang_bench", "rate"): "output tokens of 1",
    ("throughput.total_tokens.as_vllm_bench", "rate"): "output tokens of 1",
    ("throughput.total_tokens.as_guidellm", "rate"): "prompt tokens of 1",
    ("throughput.total_tokens.as_sglang_bench", "rate"): "output tokens of 1",
}


@pytest.mark.req("6.10")
@pytest.mark.parametrize(("rule", "statistic"), HAND_WORKED)
def test_a_column_by_hand(rule: str, statistic: str) -> None:
    entry = found(rule, statistic)

    assert entry["value"] == pytest.approx(HAND_WORKED[rule, statistic])
    assert entry["unit"] == COMPAT_RULES[rule].unit
    assert entry["interval"] is None


@pytest.mark.parametrize(("rule", "statistic"), ABSENT)
def test_a_count_that_the_recorded_stream_lacks_is_absent(rule: str, statistic: str) -> None:
    entry = found(rule, statistic)

    assert entry["value"] is None
    assert ABSENT[rule, statistic] in str(entry["absent"])


def test_a_percentile_of_too_few_samples_stands_but_says_so() -> None:
    entry = found("e2e.as_aiperf", "p99")

    assert entry["value"] == pytest.approx(0.090 + 0.99 * 0.090)
    assert entry["interval_kind"] == "none: too few samples for p99"


def test_what_has_no_wire_has_no_column() -> None:
    assert of_recorded([], SCOPE) == []
    assert of_recorded(kept(row("sent", 0), row("error", 1, detail="connect: x")), SCOPE) == []


def test_the_two_percentile_rules_differ() -> None:
    # Linear: rank 0.5 x 3 = 1.5 between 2 and 3. By share: 2 reaches 0.5.
    four_values = [1.0, 2.0, 3.0, 4.0]

    assert linear("x", four_values)[1].value == 2.5
    assert weighted("x", four_values)[1].value == 2.0
    # With weights 1 1 1 97 nearly every token saw 4.
    assert weighted("x", four_values, [1, 1, 1, 97])[1].value == 4.0


@pytest.mark.parametrize("column", COLUMNS.values(), ids=lambda c: c.key)
def test_no_request_is_no_number(column) -> None:  # type: ignore[no-untyped-def]
    figures = column.figures(in_columns([]), None)

    assert {f.value for f in figures if f.quantity == "failed"} == {0}
    assert all(isinstance(f.value, Absent) for f in figures if f.quantity != "failed")
