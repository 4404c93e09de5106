"""SGLang's series by what they say, on scrapes around the recorded burst (ground truth in its README)."""

import pytest

from runners.engines.sglang.scrape_map import SERIES
from runners.protocol.series import Quantity, read
from tests.runners.engines.sglang.declared import FIXTURES

BEFORE = (FIXTURES / "metrics_before.prom").read_text()
AFTER = (FIXTURES / "metrics_after.prom").read_text()


def grown(quantity: Quantity) -> dict[str, float]:
    before, after = read(BEFORE, SERIES[quantity]), read(AFTER, SERIES[quantity])
    return {part: value - before.get(part, 0) for part, value in after.items()}


def test_every_quantity_is_mapped_or_said_to_be_in_no_series() -> None:
    assert set(SERIES) == set(Quantity)
    assert [q for q, series in SERIES.items() if series is None] == [
        Quantity.decode,
        Quantity.finish_reasons,
    ]
    absent = [q for q, s in SERIES.items() if s is not None and not read(AFTER, s)]
    assert absent == [Quantity.preemptions]  # appears at the first retraction


@pytest.mark.req("8.04")
def test_both_departed_clients_are_counted_as_aborts() -> None:
    assert grown(Quantity.aborts) == {"all": 2}


def test_a_departed_client_and_a_rejected_request_are_the_same_status() -> None:
    # r6 was turned away, r4 left the queue
    assert grown(Quantity.rejections)["400"] == 2


def test_the_abort_in_decode_is_in_the_histograms_and_the_one_in_the_queue_is_not() -> None:
    # r1, r2, r3, r5; the fifth is the short request before them
    assert grown(Quantity.first_token)["count"] == 4
    assert grown(Quantity.queue)["count"] == grown(Quantity.prefill)["count"]


def test_cache_hits_are_tokens_of_prompts() -> None:
    # 24 of r2 and 24 of r5: the template that r1 left behind
    assert grown(Quantity.cache_hits) == {"all": 48}


def test_an_idle_engine_runs_and_holds_nothing() -> None:
    for quantity in (Quantity.running, Quantity.waiting, Quantity.kv_use):
        assert read(AFTER, SERIES[quantity]) == {"all": 0.0}
