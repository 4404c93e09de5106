"""Every exchange that was recorded with vLLM and SGLang, against what is known to be true of it."""

from typing import Any

import pytest

from assay.analysis.metrics.client import ttft_first_byte, ttft_first_content
from assay.analysis.wire.attempt import Attempt
from runners.protocol.events import ClientState
from tests.assay.analysis import recorded_engines, streams

EXCHANGES = recorded_engines.exchanges()
GENERATIONS = [
    (engine, name)
    for engine, name in EXCHANGES
    if "completions" in recorded_engines.truth(engine, name)["method_path"]
]


def read(engine: str, name: str) -> tuple[Attempt, dict[str, Any]]:
    return streams.one(*recorded_engines.rows(engine, name)), recorded_engines.truth(engine, name)


def ms(value: object) -> float | None:
    return round(value * 1000, 3) if isinstance(value, float) else None


@pytest.mark.parametrize(("engine", "name"), EXCHANGES)
def test_status_and_first_byte_of_every_exchange(engine: str, name: str) -> None:
    attempt, truth = read(engine, name)

    assert attempt.status == truth["status"]
    assert ms(ttft_first_byte(attempt, None)) == truth["ms_to_first_byte"]


@pytest.mark.req("6.03", "6.05", "6.06")
@pytest.mark.parametrize(("engine", "name"), GENERATIONS)
def test_what_a_generation_said_and_when(engine: str, name: str) -> None:
    attempt, truth = read(engine, name)
    reply = attempt.reply
    usage = truth["last_usage"] or {}

    assert ms(ttft_first_content(attempt, None)) == truth["ms_to_first_text"]
    assert sorted(reply.finish.values()) == sorted(truth["finish_reasons"])
    assert (reply.done_marker_ns is not None) == truth["saw_done"]
    assert reply.usage_tokens == usage.get("completion_tokens")
    assert reply.prompt_tokens == usage.get("prompt_tokens")
    if truth["text_chunks_received"] is not None:
        assert len(reply.chunk_times_ns) == truth["text_chunks_received"]


@pytest.mark.req("8.02")
@pytest.mark.parametrize(("engine", "name"), GENERATIONS)
def test_the_final_state_of_a_generation(engine: str, name: str) -> None:
    attempt, truth = read(engine, name)

    if truth["end"] == "client_abort":
        assert attempt.state is ClientState.cancelled
    elif truth["status"] != 200:
        assert attempt.state is ClientState.failed
        assert str(attempt.failure).startswith(f"http_{truth['status']}: ")
    elif truth["finish_reasons"] == ["abort"]:
        # HTTP 200, usage and [DONE]: the engine ends an aborted stream politely.
        assert attempt.state is ClientState.failed
        assert str(attempt.failure).startswith("server_error: finish_reason abort")
    else:
        assert attempt.state is ClientState.completed
        assert attempt.failure is None


def test_the_error_words_of_a_prompt_beyond_the_context() -> None:
    attempt, _ = read("sglang-0.5.23-cpu", "http/r6_error_too_long")

    assert attempt.failure == (
        "http_400: The input (2631 tokens) is longer than the model's context length (2048 tokens)."
    )


def test_tokens_of_chunks_come_from_ids_when_ids_come() -> None:
    attempt, _ = read("vllm-0.32.0-cpu", "http_extra/x11_stream_interval")

    # stream_interval 4: chunks of 1, 4, 4 and 3 tokens; usage says 12.
    assert attempt.reply.chunk_tokens == [1, 4, 4, 3]
    assert attempt.reply.token_ids == attempt.reply.usage_tokens == 12


@pytest.mark.req("6.05", "6.06")
def test_the_end_token_is_counted_but_never_shown() -> None:
    attempt, _ = read("vllm-0.32.0-cpu", "http_extra/x1_stream_stop")

    assert attempt.reply.usage_tokens == 8
    assert len(attempt.reply.chunk_times_ns) == 7
    assert set(attempt.reply.chunk_tokens) == {None}


def test_growing_usage_gives_the_tokens_of_chunks_without_ids() -> None:
    rows = recorded_engines.rows("vllm-0.32.0-cpu", "http/r3_stream_token_ids")
    without = [
        {**r, "text": r["text"].replace('"token_ids":[', '"other_ids":[')} if "text" in r else r
        for r in rows
    ]

    # The names have one length, so the chunked framing still fits.
    attempt = streams.one(*without)

    assert attempt.reply.token_ids is None
    assert attempt.reply.chunk_tokens == [1] * 16


def test_cached_prompt_tokens_are_read() -> None:
    attempt, _ = read("vllm-0.32.0-cpu", "http_extra/x4b_prefix_warm")

    assert attempt.reply.cached_tokens == 256


def test_two_choices_are_kept_apart() -> None:
    attempt, _ = read("vllm-0.32.0-cpu", "http_extra/x10_n2")

    assert set(attempt.reply.choices()) == {0, 1}
    assert attempt.reply.text == attempt.reply.choices()[0]
