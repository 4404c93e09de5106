"""The engine's own record, read out of the recorded burst; its step lines with a time to the millisecond."""

import re
from pathlib import Path
from typing import Any

import pytest

from runners.engines.base import Printed
from runners.engines.sglang.environment import UNSUPPORTED
from tests.runners.engines.sglang import recorded

BURST = recorded.log("startup.log", "requests_burst.log")
# 2026-11-29T19:00:00Z in ns of the recording's monotonic clock: 1795978800 s less the offset.
HOUR_NS = 1_795_978_800_000_000_000 - recorded.OFFSET_NS
KV = (
    "[2026-11-29 19:00:00.000] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 16384, "
    "K size: 0.18 GB, V size: 0.18 GB\n"
)


def of(found: Printed, event: str, request: str | None = None) -> list[dict[str, Any]]:
    rows = [dict(row) for row in found.rows if row["event"] == event]
    return [row for row in rows if request in (None, row.get("request"))]


def one(found: Printed, event: str, request: str) -> dict[str, Any]:
    (row,) = of(found, event, request)
    return row


def whats(found: Printed) -> str:
    return " | ".join(gap["what"] for gap in found.gaps)


def at(second: float) -> int:
    return HOUR_NS + round(second * 1e9)


def prefill(second: float, *, tokens: int = 8, running: int = 0, pending: int = 0) -> str:
    return (
        f"[2026-11-29 19:00:{second:06.3f}] Prefill batch, #new-seq: 1, #new-token: {tokens}, "
        f"#cached-token: 0, token usage: 0.00, #running-req: {running}, #queue-req: 0, "
        f"#pending-token: {pending}, cpu graph: False, input throughput (token/s): 1.00\n"
    )


def decode(second: float, *, running: int = 1, tokens: int = 9) -> str:
    return (
        f"[2026-11-29 19:00:{second:06.3f}] Decode batch, #running-req: {running}, #token: {tokens}, "
        "token usage: 0.00, cpu graph: False, gen throughput (token/s): 1.00, #queue-req: 0\n"
    )


def request(name: str, entry: float, *, queue_ms: float, forward_ms: float) -> str:
    """A request that the engine was done with; received at its entry."""
    entered = 1_795_978_800 + entry
    received = (HOUR_NS + round(entry * 1e9)) / 1e9
    return (
        f"[2026-11-29 19:00:00] Receive: obj=GenerateReqInput(rid='e{name}', text=1, "
        f"received_time={received:.9f}, kv_hints=None), headers={{'x-request-id': '{name}'}}\n"
        f"[2026-11-29 19:00:00.000] ReqTimeStats(rid=e{name}, input_len=8, cached_input_len=0, output_len=2, "
        f"attempts=0, type=unified): queue_duration={queue_ms:.2f}ms, forward_duration={forward_ms:.2f}ms, "
        f"entry_time={entered:.3f}\n"
    )


@pytest.mark.req("8.02")
def test_a_request_of_the_burst_has_its_own_times(tmp_path: Path) -> None:
    found = recorded.printed(tmp_path, BURST)

    # received_time=3492.997820047 is on the monotonic clock itself
    assert one(found, "front_received", "r1_stream_normal")["t_ns"] == 3_492_997_820_047
    queued = one(found, "queued", "r5_nonstream")
    scheduled = one(found, "scheduled", "r5_nonstream")
    # queue_duration=27355.02ms; entry_time has three decimals
    assert scheduled["t_ns"] - queued["t_ns"] == pytest.approx(27_355_020_000, abs=1_000_000)
    # forward_duration=6724.95ms
    ended = one(found, "finished", "r5_nonstream")
    assert ended["t_ns"] - scheduled["t_ns"] == pytest.approx(6_724_950_000, abs=1_000_000)
    assert (ended["reason"], ended["tokens_out"]) == ("length", 12)


@pytest.mark.req("8.04")
def test_an_aborted_request_is_cancelled_with_what_it_had_computed(tmp_path: Path) -> None:
    found = recorded.printed(tmp_path, BURST)

    row = one(found, "cancelled", "r2_stream_aborted_decode")
    # the client had read 8 texts when it left
    assert row["tokens_out"] == 10
    assert "its client had left" in row["reason"]
    assert of(found, "finished", "r2_stream_aborted_decode") == []


@pytest.mark.forbids
def test_a_request_that_left_the_queue_and_one_that_was_rejected_are_not_told_apart(
    tmp_path: Path,
) -> None:
    found = recorded.printed(tmp_path, BURST)

    for name in ("r4_stream_aborted_queued", "r6_error_too_long"):
        assert [row["event"] for row in found.rows if row.get("request") == name] == [
            "front_received"
        ]
    assert "2 requests were received and nothing more was printed of them: r4_stream" in whats(
        found
    )


def test_a_departed_client_can_still_cost_compute(tmp_path: Path) -> None:
    found = recorded.printed(tmp_path, recorded.log("requests_first_burst.log"))

    # there the request was prefilled after its client had left
    assert one(found, "cancelled", "r4_stream_aborted_queued")["tokens_out"] == 3


def test_an_abort_by_call_is_cancelled_although_its_stream_ended_politely(tmp_path: Path) -> None:
    found = recorded.printed(tmp_path, recorded.log("requests_extra.log"))

    row = one(found, "cancelled", "x6a_aborted_by_server")
    assert (row["reason"], row["tokens_out"]) == ("Aborted", 27)
    # the client of a whole reply left: the engine went on to 44 tokens
    assert one(found, "cancelled", "x7_nonstream_disconnect")["tokens_out"] == 44


def test_requests_that_the_server_makes_for_itself_are_no_attempts(tmp_path: Path) -> None:
    found = recorded.printed(tmp_path, recorded.log("startup.log"))

    assert of(found, "front_received") == []  # its warm-up has an id of 32 hexadecimal digits


def test_the_attempts_id_is_the_headers_not_the_engines(tmp_path: Path) -> None:
    found = recorded.printed(tmp_path, request("a1", 1.0, queue_ms=2, forward_ms=500))

    assert {row["request"] for row in found.rows if "request" in row} == {"a1"}


def test_step_lines_of_the_recording_have_no_usable_time_and_give_no_steps(tmp_path: Path) -> None:
    found = recorded.printed(tmp_path, BURST)

    assert of(found, "iteration") == []
    # 8 of the warm-up, 42 of the burst
    assert "50 step lines carry no time to the millisecond" in whats(found)


def test_a_step_began_at_the_line_before_or_when_its_request_was_taken_up(tmp_path: Path) -> None:
    text = request("a1", 1.0, queue_ms=2, forward_ms=500) + KV
    text += prefill(1.2) + decode(1.3) + decode(1.5, tokens=0)

    found = recorded.printed(tmp_path, text)

    steps = of(found, "iteration")
    # taken up at 1.002 s; printed at 1.2, 1.3 and 1.5 s
    assert [(s["t_ns"], s["duration_ns"]) for s in steps] == [
        (at(1.002), 198_000_000),
        (at(1.2), 100_000_000),
        (at(1.3), 200_000_000),
    ]
    assert [s["duration_is"] for s in steps] == [
        "since its request was taken up",
        "since the line before",
        "since the line before",
    ]
    assert [(s["prefill_tokens"], s["decode_requests"]) for s in steps] == [(8, 0), (0, 1), (0, 1)]
    assert (steps[1]["kv_used"], steps[1]["kv_total"]) == (9, 16384)
    # a millisecond of the printed form, 2 µs between the two clocks' readings
    assert steps[1]["error_ns"] == 1_000_000 + 2_000


@pytest.mark.req("7.04", "7.05")
def test_steps_are_told_apart_by_shape_and_by_whether_a_graph_ran(tmp_path: Path) -> None:
    replayed = decode(1.5, running=2).replace("cpu graph: False", "cuda graph: True")
    text = request("a1", 1.0, queue_ms=2, forward_ms=500) + KV
    text += prefill(1.2) + decode(1.3) + decode(1.4) + replayed

    found = of(recorded.printed(tmp_path, text), "shape_dispatch")

    assert [(r["tokens"], r["requests"], r["uniform"], r["mode"], r["count"]) for r in found] == [
        (8, 1, False, "NONE", 1),
        (1, 1, True, "NONE", 2),
        (2, 2, True, "FULL", 1),
    ]
    assert "padded" not in found[0]  # the line does not say to what


def test_idle_time_is_in_no_step(tmp_path: Path) -> None:
    text = request("a1", 1.0, queue_ms=0, forward_ms=300)
    text += prefill(1.1) + decode(1.3, tokens=0)
    text += request("a2", 9.0, queue_ms=0, forward_ms=300) + prefill(9.1)

    (*_, last) = of(recorded.printed(tmp_path, text), "iteration")

    assert (last["t_ns"], last["duration_ns"]) == (at(9.0), 100_000_000)


def test_a_step_whose_beginning_nothing_shows_is_a_gap(tmp_path: Path) -> None:
    found = recorded.printed(tmp_path, prefill(1.1))

    assert of(found, "iteration") == []
    assert "1 step lines do not show when their step began" in whats(found)


def test_a_prompt_mixed_with_decoding_requests_is_not_counted_as_a_prompt_alone(
    tmp_path: Path,
) -> None:
    text = request("a1", 1.0, queue_ms=0, forward_ms=300)
    text += prefill(1.1) + prefill(1.3, running=1)

    found = recorded.printed(tmp_path, text, mixed_chunk=True)

    assert len(of(found, "iteration")) == 1
    assert "do not say how many requests decoded beside their prompt" in whats(found)


@pytest.mark.req("8.10")
def test_blocks_of_an_ended_request_are_free_once_no_token_is_held(tmp_path: Path) -> None:
    text = request("a1", 1.0, queue_ms=0, forward_ms=500) + prefill(1.2) + decode(1.4)
    text += decode(1.6, tokens=0)

    found = recorded.printed(tmp_path, text)

    released = [(r["request"], r["value"], r["t_ns"]) for r in of(found, "released")]
    assert released == [("a1", "blocks_dropped", at(1.6)), ("a1", "blocks_reusable", at(1.6))]


@pytest.mark.req("7.10")
@pytest.mark.forbids
def test_lines_that_changed_their_form_are_gaps_and_no_facts(tmp_path: Path) -> None:
    text = request("a1", 1.0, queue_ms=0, forward_ms=500).replace("output_len", "generated_len")
    text += prefill(1.2) + decode(1.4).replace("#token:", "#tokens:")

    found = recorded.printed(tmp_path, text)

    assert of(found, "queued") == of(found, "cancelled") == of(found, "iteration") == []
    assert "1 lines about requests are not of the known form" in whats(found)
    assert "1 step lines are not of the known form" in whats(found)


@pytest.mark.req("7.07")
def test_the_start_is_split_by_the_engines_own_times(tmp_path: Path) -> None:
    start = re.sub(r"^(\[[\d -]+:\d\d:\d\d)\]", r"\1.000]", recorded.log("startup.log"), flags=re.M)

    found = recorded.printed(tmp_path, start)

    parts = {row["part"]: row["duration_s"] for row in of(found, "start_part")}
    assert parts == {
        "weights": 0.39,
        "KV cache": 1.1,
        "capture": 0.0,
        "scheduler, all of it": 9.55,
        "front end, all of it": 31.65,
    }


def test_a_cpu_run_says_that_it_is_no_supported_configuration_whatever_it_printed(
    tmp_path: Path,
) -> None:
    for text in (BURST, ""):
        assert UNSUPPORTED in whats(recorded.printed(tmp_path, text))


def test_without_an_anchor_nothing_is_put_on_the_clients_clock(tmp_path: Path) -> None:
    found = recorded.printed(tmp_path, BURST, anchors=[])

    assert found.rows == ()
    assert "the run has no clock anchor" in whats(found)
