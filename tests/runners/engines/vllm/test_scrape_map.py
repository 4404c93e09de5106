"""vLLM's series by what they say, on scrapes around the recorded burst (ground truth in its README)."""

import pytest

from runners.engines.vllm.scrape_map import SERIES
from runners.protocol.series import Quantity, read
from tests.runners.engines.vllm.declared import FIXTURES

BEFORE = (FIXTURES / "metrics_before.prom").read_text()
AFTER = (FIXTURES / "metrics_after.prom").read_text()


def grown(quantity: Quantity) -> dict[str, float]:
    before, after = read(BEFORE, SERIES[quantity]), read(AFTER, SERIES[quantity])
    return {part: value - before.get(part, 0) for part, value in after.items()}


def test_every_quantity_is_mapped_or_said_to_be_in_no_series() -> None:
    assert set(SERIES) == set(Quantity)
    assert None not in SERIES.values()
    assert all(read(AFTER, series) for series in SERIES.values() if series is not None)


@pytest.mark.req("8.04")
def test_finish_reasons_count_no_abort_although_two_requests_were_aborted() -> None:
    found = grown(Quantity.finish_reasons)

    assert found["length"] == 3
    assert found["abort"] == 0
    assert grown(Quantity.aborts) == {"all": 0}


def test_token_counters_hold_the_work_of_aborted_requests() -> None:
    # 38 + 43 + 34 + 37: the abort in decode is in, the one in the queue is not
    assert grown(Quantity.prompt_tokens) == {"all": 152}
    # 24 + 8 + 16 + 12
    assert grown(Quantity.generation_tokens) == {"all": 60}


def test_two_histograms_have_two_populations() -> None:
    assert grown(Quantity.first_token)["count"] == 4
    assert {q: grown(q)["count"] for q in (Quantity.queue, Quantity.prefill, Quantity.decode)} == {
        Quantity.queue: 3,
        Quantity.prefill: 3,
        Quantity.decode: 3,
    }
    assert SERIES[Quantity.queue].caution != SERIES[Quantity.first_token].caution  # type: ignore[union-attr]


def test_an_idle_engine_runs_and_holds_nothing() -> None:
    for quantity in (Quantity.running, Quantity.waiting, Quantity.kv_use):
        assert read(AFTER, SERIES[quantity]) == {"all": 0.0}


def test_a_series_that_is_not_there_reads_as_nothing() -> None:
    assert read("", SERIES[Quantity.running]) == {}
