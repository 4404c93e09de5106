"""Aggregates, rates and goodput name their denominators and keep failures in sight."""

from dataclasses import replace
from typing import Any

import pytest

from assay.analysis.aggregates import Scope, aggregate, of_samples
from assay.analysis.documents import Aggregate, InterpretationDocument
from assay.analysis.errors import ClaimRefused
from assay.analysis.rates import ServiceLevels, completion_claim
from assay.analysis.window import Window
from tests.assay.analysis.streams import DONE, MS, delta, interpretation, read, row, usage

SCOPE = Scope(
    population="completed attempts",
    denominator="attempts",
    perspective="client",
    clock_domain="c",
    limited_by="E1",
)


def good(
    name: str, start_ms: float, *, tokens: int = 3, gap_ms: float = 10, **ids: Any
) -> list[Any]:
    """Sent at ``start``, first content 50 ms later, then one token every gap."""
    rows = [row("sent", start_ms, name, **ids)]
    for i in range(tokens):
        text = delta("x", ids=[i], finish="stop" if i == tokens - 1 else None)
        rows.append(read(start_ms + 50 + i * gap_ms, text, name))
    end = start_ms + 50 + (tokens - 1) * gap_ms
    rows[-1]["text"] += DONE
    return [*rows, row("closed", end, name, status=200)]


def rejected(name: str, start_ms: float) -> list[Any]:
    return [
        row("sent", start_ms, name),
        row("headers", start_ms + 1, name, status=503),
        row("closed", start_ms + 1, name),
    ]


def found(document: InterpretationDocument, rule: str, statistic: str) -> Aggregate:
    (entry,) = [
        a for a in document["aggregates"] if (a["rule"], a["statistic"]) == (rule, statistic)
    ]
    return entry


@pytest.mark.req("1.08", "2.14", "8.20")
def test_failures_stay_in_the_denominator() -> None:
    rows = [
        *good("a", 0),
        *good("b", 100),
        *rejected("c", 200),
        row("sent", 0, "d"),
        row("timeout", 9, "d"),
    ]

    document = interpretation(rows)

    for rule, share in (("completion_rate", 0.5), ("rejection_rate", 0.25), ("error_rate", 0.25)):
        entry = found(document, rule, "ratio")
        assert (entry["value"], entry["of"]) == (share, 4)
        assert entry["denominator"] == "attempts, retries included"
    ttft = found(document, "ttft.first_content.client", "mean")
    assert ttft["value"] == pytest.approx(0.050)
    assert (ttft["n"], ttft["of"]) == (2, 4)


def test_goodput_divides_by_what_was_offered() -> None:
    # a holds both limits; b misses TPOT (30 ms > 20 ms); c was rejected.
    rows = [*good("a", 0), *good("b", 100, gap_ms=30), *rejected("c", 200)]

    document = interpretation(rows, slo=ServiceLevels(ttft_s=0.06, tpot_s=0.02))

    entry = found(document, "goodput.ratio", "ratio")
    assert entry["value"] == pytest.approx(1 / 3)
    assert (entry["n"], entry["of"]) == (1, 3)
    assert entry["population"] == "offered requests, held: ttft <= 0.06 s, tpot <= 0.02 s"


def test_a_limit_is_held_when_it_is_met_exactly() -> None:
    document = interpretation(good("a", 0), slo=ServiceLevels(ttft_s=0.05, tpot_s=0.01))

    assert found(document, "goodput.ratio", "ratio")["value"] == 1.0


def test_a_retry_does_not_hide_the_wait_before_it() -> None:
    first = [row("sent", 0, "r.A1", request_id="r"), row("timeout", 40, "r.A1")]
    second = good("r.A2", 45, request_id="r", retry_of="r.A1")

    document = interpretation([*first, *second], slo=ServiceLevels(ttft_s=0.06))

    # The answer began 95 ms after the first send, though only 50 ms after its own.
    entry = found(document, "goodput.ratio", "ratio")
    assert (entry["value"], entry["of"]) == (0.0, 1)


def test_goodput_without_counts_is_absent_not_zero() -> None:
    rows = [
        row("sent", 0),
        read(5, delta("x")),
        read(9, delta("y", finish="stop")),
        row("closed", 9),
    ]

    document = interpretation(rows, slo=ServiceLevels(tpot_s=1))

    entry = found(document, "goodput.ratio", "ratio")
    assert entry["value"] is None
    assert "1 of 1 requests cannot be judged" in str(entry["absent"])


@pytest.mark.req("14.04", "14.09")
def test_throughput_counts_tokens_that_arrive_in_the_window() -> None:
    # a: tokens at 50, 60, 70 ms; b: at 150, 160, 170 ms. The window [55, 155) ms holds 60, 70 and 150.
    window = Window(from_ns=55 * MS, to_ns=155 * MS, chosen="asked for")

    document = interpretation([*good("a", 0), *good("b", 100)], window=window)

    arrived = found(document, "throughput.output_tokens", "rate")
    assert arrived["value"] == pytest.approx(30.0)
    assert arrived["unit"] == "token/s"
    assert arrived["window_ns"] == [55 * MS, 155 * MS]
    # Only a completed in it: 3 tokens in 0.1 s.
    completed = found(document, "throughput.output_tokens.completed", "rate")
    assert completed["value"] == pytest.approx(30.0)
    assert found(document, "throughput.requests", "rate")["value"] == pytest.approx(10.0)


def test_in_flight_is_weighted_by_time() -> None:
    window = Window(from_ns=0, to_ns=140 * MS, chosen="asked for")

    document = interpretation([*good("a", 0), *good("b", 35)], window=window)

    # a is in flight 0..70, b 35..105: 140 ms of attempts in 140 ms.
    assert found(document, "in_flight", "mean")["value"] == pytest.approx(1.0)


def test_throughput_of_uncounted_chunks_is_absent() -> None:
    rows = [row("sent", 0), read(5, delta("x", finish="stop")), row("closed", 5)]

    entry = found(interpretation(rows), "throughput.output_tokens", "rate")

    assert entry["value"] is None
    assert "chunks are no tokens" in str(entry["absent"])


@pytest.mark.req("14.07")
def test_a_percentile_that_too_few_samples_carry_is_absent() -> None:
    entries = {
        a["statistic"]: a
        for a in of_samples(
            "r", "s", [float(i) for i in range(1, 41)], offered=50, scope=SCOPE, seed=1
        )
    }

    assert entries["p50"]["value"] == 20
    assert entries["p95"]["value"] == 38
    assert entries["p99"]["absent"] == "too few samples for p99: 40, at least 100 are needed"
    assert entries["p50"]["percentile_rule"] == "nearest_rank"
    assert entries["p50"]["interval"] is not None
    assert (entries["mean"]["n"], entries["mean"]["of"]) == (40, 50)


def test_a_percentile_without_a_population_is_refused() -> None:
    nameless = Scope(
        population="", denominator="", perspective="client", clock_domain="c", limited_by="E1"
    )

    with pytest.raises(ClaimRefused, match="population of r"):
        of_samples("r", "s", [1.0], offered=1, scope=nameless, seed=1)


@pytest.mark.req("14.07")
def test_gaps_of_one_request_are_one_cluster() -> None:
    # Eight requests of 2 gaps, of 10 ms and, in one, of 30 ms: sixteen samples, eight units.
    rows = [r for i in range(8) for r in good(f"r{i}", 100 * i, gap_ms=30 if i == 3 else 10)]

    document = interpretation(rows)

    gaps, ttft = found(document, "itl.chunk_gap", "mean"), found(document, "e2e.client", "mean")
    assert (gaps["n"], gaps["value"]) == (16, pytest.approx(0.0125))
    assert gaps["interval_kind"] == "95% bootstrap of requests in blocks, within this start"
    assert ttft["interval_kind"] == "95% block bootstrap over time, seeded, within this start"


@pytest.mark.parametrize(
    ("value", "special"), [(float("nan"), "nan"), (float("inf"), "inf"), (float("-inf"), "-inf")]
)
def test_a_value_that_is_not_finite_is_null_with_its_word(value: float, special: str) -> None:
    entry = aggregate("r", "mean", "s", value, n=1, of=1, scope=SCOPE)

    assert (entry["value"], entry["special"], entry["absent"]) == (None, special, None)


@pytest.mark.req("1.09")
@pytest.mark.forbids
def test_a_rate_without_its_unit_of_completion_is_refused() -> None:
    assert completion_claim(120, denominator="task") == "120 task/s"

    with pytest.raises(ClaimRefused, match="'120 QPS' is no claim"):
        completion_claim(120, denominator=None)


@pytest.mark.req("1.03")
@pytest.mark.forbids
@pytest.mark.parametrize("root", ["sessions", "session s1", ""])
def test_a_session_is_no_root_of_completion(root: str) -> None:
    with pytest.raises(ClaimRefused, match="a session completes nothing"):
        aggregate(
            "completion_rate", "ratio", "1", 0.5, n=1, of=2, scope=replace(SCOPE, denominator=root)
        )
    with pytest.raises(ClaimRefused, match="denominator of a rate"):
        completion_claim(0.5, denominator="session")


@pytest.mark.req("1.03")
@pytest.mark.forbids
def test_tasks_of_one_session_are_judged_one_by_one() -> None:
    rows = [
        *good("a", 0, task_id="T1", session_id="S", request_id="r1"),
        row("sent", 0, "b", task_id="T2", session_id="S", request_id="r2"),
        row("timeout", 9, "b"),
    ]

    document = interpretation(rows)

    # The session as root would give one outcome, or the rate 1 of 1 session.
    assert {r["subject"] for r in document["ledgers"]["task"]} == {"T1", "T2"}
    assert found(document, "completion_rate", "ratio")["value"] == 0.5


@pytest.mark.req("14.09")
@pytest.mark.forbids
def test_prompt_and_output_rates_are_never_added() -> None:
    # In the window of 0.1 s: 7 prompt tokens and 3 output tokens. 70/s and 30/s are never made 100/s.
    rows = good("a", 0)
    rows[-2]["text"] = rows[-2]["text"].removesuffix(DONE) + usage(3, 7) + DONE
    window = Window(from_ns=0, to_ns=100 * MS, chosen="asked for")

    document = interpretation(rows, window=window)

    assert found(document, "throughput.input_tokens", "rate")["value"] == pytest.approx(70.0)
    assert found(document, "throughput.output_tokens", "rate")["value"] == pytest.approx(30.0)
    # Columns of other tools do add them; they bear the tool's name and are no rate of ours.
    rates = [
        a for a in document["aggregates"] if a["unit"] == "token/s" and ".as_" not in a["rule"]
    ]
    assert all(a["window_ns"] == [0, 100 * MS] for a in rates)
    assert not [a for a in document["aggregates"] if a["value"] == pytest.approx(100.0)]


@pytest.mark.req("14.08")
@pytest.mark.forbids
def test_more_tokens_per_second_does_not_meet_a_latency_target() -> None:
    slow = [r for i in range(20) for r in good(f"s{i}", 0, gap_ms=40)]

    document = interpretation(slow, slo=ServiceLevels(tpot_s=0.02))

    throughput = found(document, "throughput.output_tokens", "rate")["value"]
    assert throughput is not None
    assert throughput > 400  # 60 tokens in 0.13 s
    assert found(document, "goodput.ratio", "ratio")["value"] == 0.0
