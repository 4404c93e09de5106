"""State of a run in three columns, each difference with its cause."""

from dataclasses import replace

import pytest

from assay.analysis.predictions import build_predictions
from assay.analysis.residual.state_columns import StateColumns, state_columns
from runners.protocol.documents import PredictionsDocument
from tests.assay.analysis import benchmarks
from tests.assay.analysis.observations import NO_MEMORY, observed, step
from tests.assay.analysis.run_specs import PLAN_DIGEST, spec

# 512 blocks of 16 tokens, 46,080 B a token
MEMORY = replace(NO_MEMORY, kv_total_blocks=512, kv_bytes_allocated=512 * 16 * 46_080)


def predictions() -> PredictionsDocument:
    return build_predictions(spec(), {"plan_digest": PLAN_DIGEST}, [benchmarks.document()], "t")


def entry(what: str, **fields: int) -> StateColumns:
    steps = [step(1, 0.04, batch=4, stored=70, kv_used_blocks=fields.get("blocks", 20))]
    found = state_columns(predictions(), observed(steps=steps, memory=MEMORY))
    (one,) = [row for row in found if row["what"] == what]
    return one


@pytest.mark.req("10.16", "10.22")
def test_bytes_of_a_token_are_those_of_the_engines_own_type() -> None:
    found = entry("kv_per_token")

    # 2 x 30 layers x 3 heads x 64 x 4 B, and half of it in two-byte elements
    assert found["logical_bytes"] == found["measured_bytes"] == 46_080
    assert found["differences"] == [
        "in float32 an element takes 4 B; in bfloat16 a token would take 23,040 B"
    ]


def test_block_rounding_explains_layout_beyond_logical_bytes() -> None:
    found = entry("kv_at_busiest_step")

    # four sequences of 71 tokens fill 284 of 20 x 16 = 320 slots; 5 blocks each, 9 empty in each last one
    assert (found["tokens"], found["logical_bytes"]) == (284, 284 * 46_080)
    assert found["layout_bytes"] == found["measured_bytes"] == 320 * 46_080
    (said,) = found["differences"]
    assert said.startswith("block rounding: 36 of 320 slots")
    assert "1,658,880 B" in said


def test_more_blocks_than_rounding_explains_are_named_apart() -> None:
    found = entry("kv_at_busiest_step", blocks=30)

    # 480 slots for 284 tokens: 196 empty, of which 4 x 15 = 60 can be rounding
    assert len(found["differences"]) == 2
    assert found["differences"][1].startswith("136 slots more")


def test_an_allocation_that_differs_stays_unexplained() -> None:
    memory = replace(MEMORY, kv_bytes_allocated=512 * 16 * 46_080 + 4096)

    found = state_columns(predictions(), observed(memory=memory))

    (pool,) = [row for row in found if row["what"] == "kv_pool"]
    assert pool["differences"] == [
        "the allocation differs from the layout by 4,096 B: not explained"
    ]


@pytest.mark.req("11.08")
@pytest.mark.forbids
def test_what_no_record_states_stays_empty() -> None:
    (found,) = state_columns(predictions(), observed(memory=NO_MEMORY))

    assert (found["layout_bytes"], found["measured_bytes"]) == (None, None)
    assert state_columns(None, observed(memory=MEMORY)) == []
