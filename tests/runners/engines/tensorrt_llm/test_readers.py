"""Documented forms of TensorRT-LLM's log, series and statistics give facts; a changed form gives a gap."""

from pathlib import Path
from typing import Any

import pytest

from runners.engines.base import EvidenceContext, Printed, PrintedContext
from runners.engines.tensorrt_llm import printed
from runners.engines.tensorrt_llm.identity import items
from runners.engines.tensorrt_llm.iteration_lines import iteration
from runners.engines.tensorrt_llm.log_lines import lines_of
from runners.engines.tensorrt_llm.printed import NEVER_RUN
from runners.engines.tensorrt_llm.scrape_map import SERIES, statistics
from runners.protocol.documents import Anchor
from runners.protocol.series import Quantity, read
from tests.runners.engines.tensorrt_llm import documented
from tests.runners.engines.tensorrt_llm.declared import spec

# 2025-12-20T04:21:00Z; the monotonic clock then stood at 100 s.
WALL_NS, MONOTONIC_NS = 1_766_204_460_000_000_000, 100_000_000_000
ANCHOR = Anchor(wall_ns=WALL_NS, monotonic_ns=MONOTONIC_NS, boottime_ns=0, spread_ns=2_000)


def message(text: str) -> str:
    (line,) = lines_of([text])
    return line.message


def said(folder: Path, text: str) -> Printed:
    (folder / "engine.log").write_text(text)
    context = PrintedContext(
        spec=spec(), bundle=folder, server_info=None, anchors=[ANCHOR], clock_domain="d"
    )
    return printed.read(context)


def identity(folder: Path, text: str) -> dict[str, Any]:
    (folder / "engine.log").write_text(text)
    context = EvidenceContext(
        spec=spec(), bundle=folder, base_url="", server_info=None, version="1.2.1"
    )
    return {item["item"]: item for item in items(context)}


def whats(found: Printed) -> str:
    return " | ".join(gap["what"] for gap in found.gaps)


def test_an_iteration_is_read_by_key_in_either_order_of_fields() -> None:
    first, later = iteration(message(documented.EARLIER)), iteration(message(documented.LATER))

    assert first is not None
    assert later is not None
    assert (first.number, first.prefill_requests, first.prefill_tokens) == (1, 1, 38)
    assert (first.host_ms, first.previous_device_ms, first.kv_use) == (75.25, None, None)
    assert (later.number, later.host_ms, later.previous_device_ms, later.kv_use) == (
        198,
        5.0,
        4.1,
        0.112,
    )


@pytest.mark.req("7.04")
def test_padding_of_a_graph_is_no_request() -> None:
    found = iteration(message(documented.LATER))

    # 16 generation tokens, of which 10 are of real requests
    assert found is not None
    assert (found.generation_tokens, found.decode_requests) == (16, 10)


@pytest.mark.req("7.04")
def test_only_a_padded_step_says_which_graph_it_took(tmp_path: Path) -> None:
    again = documented.LATER.replace("iter = 198", "iter = 199")
    full = documented.LATER.replace("iter = 198", "iter = 200").replace(": 16}", ": 10}")

    found = said(tmp_path, documented.START + documented.LATER + again + full)

    (row,) = [row for row in found.rows if row["event"] == "shape_dispatch"]
    # twice ten requests computed sixteen tokens; ten that computed ten may have run either way
    assert (row["tokens"], row["padded"], row["mode"], row["count"]) == (10, 16, "FULL", 2)


@pytest.mark.req("7.10")
@pytest.mark.forbids
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("num_scheduled_requests", "scheduled"),
        ("'num_ctx_tokens'", "'ctx_tokens'"),
        ("host_step_time = 75.25ms", "host_step_time = 75.25 units"),
        ("'num_ctx_requests': 1", "'num_ctx_requests': 2"),  # more than were scheduled
    ],
)
def test_an_iteration_line_of_another_form_is_a_gap_and_no_iteration(
    tmp_path: Path, before: str, after: str
) -> None:
    found = said(tmp_path, documented.START + documented.EARLIER.replace(before, after))

    assert found.rows == []
    assert "1 iteration lines are not of the known form" in whats(found)


def test_an_iteration_has_its_exact_duration_and_a_place_to_the_second(tmp_path: Path) -> None:
    found = said(tmp_path, documented.START + documented.EARLIER + documented.LATER)

    clock, first, second = (row for row in found.rows if row["event"] != "shape_dispatch")
    assert clock["event"] == "clock"
    # printed at 04:21:12; 75.25 ms before it
    assert first["t_ns"] == MONOTONIC_NS + 12_000_000_000 - 75_250_000
    assert first["duration_ns"] == 75_250_000
    assert first["error_ns"] == 1_000_000_000 + 2_000
    assert second["previous_device_ns"] == 4_100_000
    # 8224 tokens in blocks of 32
    assert (second["kv_total"], second["kv_use"]) == (257, 0.112)


@pytest.mark.req("8.04")
def test_a_departed_client_is_counted_and_joined_to_nothing(tmp_path: Path) -> None:
    found = said(tmp_path, documented.START + documented.LEFT)

    assert found.rows == []
    assert "saw 1 clients leave and aborted its requests 2" in whats(found)


def test_every_record_says_that_the_adapter_was_never_run(tmp_path: Path) -> None:
    assert NEVER_RUN in whats(said(tmp_path, documented.START))
    assert NEVER_RUN in whats(said(tmp_path, ""))
    stated = [i for i in identity(tmp_path, documented.START).values() if len(i["evidence"]) > 0]
    assert all(NEVER_RUN in str(item["ran"]) or "answered" in item["ran"] for item in stated)


@pytest.mark.req("7.14")
def test_identity_rests_on_the_lines_that_there_are(tmp_path: Path) -> None:
    found = identity(tmp_path, documented.START + documented.LATER)

    assert found["engine_version"]["ran"]["printed"] == "1.2.1"
    assert found["hardware_runtime"]["ran"]["kv_tokens"] == 8224
    assert found["model_runner"]["ran"]["max_batch_size"] == 64
    assert found["graph_compile_mode"]["ran"]["padded_to"] == 16
    for name in ("attention_gemm_backend", "precision_path", "parallel_layout"):
        assert found[name]["ran"] is None
        assert "no trace of 1.2 is read" in found[name]["reason"]


def test_statistics_give_what_the_series_do_not() -> None:
    first, second = statistics(documented.STATISTICS)

    # 64 of 256 blocks; 6 reused and 18 missed
    assert first == {
        Quantity.running: 3,
        Quantity.waiting: 2,
        Quantity.preemptions: 1,
        Quantity.cache_hits: 6,
        Quantity.cache_queries: 24,
        Quantity.kv_use: 0.25,
    }
    assert second == {Quantity.running: 2}  # absent is not zero


def test_series_are_read_by_their_documented_names() -> None:
    assert set(SERIES) == set(Quantity)
    assert read(documented.PROMETHEUS, SERIES[Quantity.finish_reasons]) == {"length": 3, "stop": 1}
    assert read(documented.PROMETHEUS, SERIES[Quantity.first_token]) == {"count": 4, "sum": 0.5}
    assert read(documented.PROMETHEUS, SERIES[Quantity.aborts]) == {}
