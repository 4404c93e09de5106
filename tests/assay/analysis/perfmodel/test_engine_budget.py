"""KV blocks that vLLM granted on real cards, from the state bytes of the models' configurations.

Published grants: F1 from an engine's own meta.json (casys-kaist/LLMServingSim, vLLM 0.19, RTX 4090 with
25,250,627,584 bytes), the others from BLIS test data (vLLM 0.15.1, H100 80GB). The H100's total is the
79.22 GiB that vLLM's log prints for such a card. Peak activation and non-torch memory were not published:
they are one stated input of 1.3 GB, the same for all four.
"""

import pytest

from assay.analysis.perfmodel.engine_budget import (
    EngineBudget,
    granted_blocks,
    implied_remainder_bytes,
)
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.parallel.layout import Layout
from assay.analysis.perfmodel.parallel.shards import rank_structure
from assay.analysis.perfmodel.precision import plain
from assay.analysis.perfmodel.quantization.weight_formats import uniform
from assay.analysis.perfmodel.reading.reader import read_structure
from assay.analysis.perfmodel.state import kv_bytes_per_token
from assay.analysis.perfmodel.weights import weight_bytes
from tests.assay.analysis.perfmodel.structures import config

RTX_4090 = 25_250_627_584
H100 = int(79.22 * 2**30)
REMAINDER = 1_300_000_000
GRANTS = {
    "F1": ("meta-llama__Llama-3.1-8B", 1, RTX_4090, 2588),
    "F2": ("Qwen__Qwen2.5-7B-Instruct", 1, H100, 65368),
    "F3": ("mistralai__Mistral-Nemo-Instruct-2407", 1, H100, 19251),
    "F4": ("mistralai__Mistral-Nemo-Instruct-2407", 2, H100, 48009),
}


def budget_and_state(model: str, tensor: int, total: int) -> tuple[EngineBudget, int]:
    rank = rank_structure(read_structure(config(model)), Layout(tensor=tensor))
    budget = EngineBudget(
        total_bytes=total,
        utilization=0.9,
        weight_bytes=weight_bytes(rank, uniform(plain("bfloat16", field="weights"))),
        remainder_bytes=REMAINDER,
        remainder_source="assumption",
    )
    return budget, kv_bytes_per_token(rank, kv_dtype="bfloat16")


@pytest.mark.parametrize("row", GRANTS)
def test_granted_blocks_follow_from_the_configuration(row: str) -> None:
    model, tensor, total, granted = GRANTS[row]
    budget, per_token = budget_and_state(model, tensor, total)

    found = granted_blocks(budget, bytes_per_token=per_token)

    assert found == pytest.approx(granted, rel=0.012)


def test_what_the_grants_leave_over_is_of_one_size() -> None:
    left = {}
    for row, (model, tensor, total, granted) in GRANTS.items():
        budget, per_token = budget_and_state(model, tensor, total)
        left[row] = implied_remainder_bytes(budget, blocks=granted, bytes_per_token=per_token)

    # F1: 0.9 x 25,250,627,584 - 16,060,522,496 - 2588 x 16 x 131,072 = 1,237,612,953
    assert left["F1"] == 1_237_612_953
    assert all(1.2e9 < size < 1.6e9 for size in left.values()), left


def test_the_state_of_one_token_is_what_the_grants_confirm() -> None:
    # 32, 28 and 40 layers of 8, 4 and 8 KV heads of 128, K and V, 2 bytes; two ranks have half the heads
    states = [
        budget_and_state(model, tensor, total)[1] for model, tensor, total, _ in GRANTS.values()
    ]

    assert states == [131072, 57344, 163840, 81920]


def test_a_card_that_is_too_small_grants_nothing_and_bad_settings_are_refused() -> None:
    budget, per_token = budget_and_state("meta-llama__Llama-3.1-8B", 1, 16 * 2**30)

    assert budget.kv_bytes < 0
    assert granted_blocks(budget, bytes_per_token=per_token) == 0
    with pytest.raises(ModelRefused, match="state that grows"):
        granted_blocks(budget, bytes_per_token=0)
    with pytest.raises(ModelRefused, match="utilization"):
        EngineBudget(
            total_bytes=1, utilization=1.1, weight_bytes=1, remainder_bytes=0, remainder_source="x"
        )
