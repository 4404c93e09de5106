"""A record of which something is missing is not interpretable, and says what."""

import pytest

from assay.analysis.record_completeness import (
    Measured,
    missing,
    parallel_strategy,
    record_items,
)
from tests.experiments.declarations import changed, example

ALL = Measured(
    input_lengths=8,
    output_lengths=8,
    cached_tokens_known=True,
    timing_rules=("ttft.first_content.client", "tpot.client"),
)


@pytest.mark.req("14.01")
def test_the_example_run_has_all_nine_items() -> None:
    items = record_items(example(), ALL)

    assert len(items) == 9
    assert missing(items) == []
    assert "SmolLM2" in str(items[0].value)
    assert items[2].value == "1 x cpu, no interconnect: one device"


@pytest.mark.req("14.01")
@pytest.mark.parametrize(
    ("path", "value", "name"),
    [
        ("artifact.revision", None, "model configuration and version"),
        ("artifact.config", None, "model configuration and version"),
        ("artifact.precision", None, "weight and KV dtype"),
        ("engine.version", None, "framework version"),
        ("device.count", 2, "hardware count and interconnect"),
        ("load.concurrency", None, "concurrency or arrival rate"),
    ],
)
def test_an_undeclared_item_makes_the_record_not_interpretable(
    path: str, value: object, name: str
) -> None:
    assert missing(record_items(changed(example(), path, value), ALL)) == [name]


@pytest.mark.req("14.01")
def test_what_no_run_has_measured_is_missing() -> None:
    items = record_items(example(), Measured())

    assert missing(items) == [
        "input and output length distributions",
        "cache-hit condition",
        "timing boundaries of TTFT and TPOT",
    ]
    assert all(item.lacking for item in items if item.value is None)


@pytest.mark.req("14.12")
def test_parallelism_is_recorded_by_kind_with_its_known_limit() -> None:
    said = parallel_strategy({"data": 2, "tensor": 4, "pipeline": 1, "expert": 8})

    assert said.startswith("data 2 (each replica must hold the model")
    assert "tensor 4 (collectives in every layer; KV heads are replicated" in said
    assert "expert 8 (dispatch and combine" in said
    assert "pipeline" not in said
