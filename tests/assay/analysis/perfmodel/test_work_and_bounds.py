"""Work of a step by operator, its bounds, state functions, budgets and units."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.perfmodel.bounds import serial_bound, step_bound, time_bound
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.laws import ridge_rows_square
from assay.analysis.perfmodel.memory import memory_budget, sequences_that_fit
from assay.analysis.perfmodel.operators import (
    Operator,
    SequenceStep,
    decode_sequences,
    total_bytes,
    total_executed_flops,
    total_useful_flops,
)
from assay.analysis.perfmodel.precision import plain
from assay.analysis.perfmodel.quantization.weight_formats import uniform
from assay.analysis.perfmodel.state import blocks_for, kv_bytes_per_token, state_classes
from assay.analysis.perfmodel.units import bandwidth_bytes_per_s, capacity_bytes, capacity_text
from assay.analysis.perfmodel.work import step_operators
from tests.assay.analysis.perfmodel.structures import SMOLLM2, TINY

ROOFS: dict[str, Any] = {
    "peak_flops_per_s": 1e9,
    "bandwidth_bytes_per_s": 1e9,
    "memory_level": "DRAM",
}


def operators(*sequences: SequenceStep, sampled: int = 1) -> list[Operator]:
    return step_operators(
        TINY,
        sequences,
        formats=uniform(plain("float32", field="dtype")),
        kv_dtype="float32",
        activation_dtype="float32",
        sampled=sampled,
    )


def by_name(found: list[Operator]) -> dict[str, Operator]:
    return {operator.name: operator for operator in found}


@pytest.mark.req("13.02", "13.12", "10.11")
def test_a_prompt_of_three_tokens_by_hand() -> None:
    found = by_name(operators(SequenceStep(new=3, stored=0)))

    # q: 2 FLOP x 3 rows x 8 x 8 x 2 layers
    assert found["q_proj"].useful_flops == 768
    # pairs 1 + 2 + 3 = 6 of a square of 9; 4 FLOP x 2 heads x 4 wide x 2 layers = 64 a pair
    assert found["attention"].useful_flops == 6 * 64
    assert found["attention"].executed_flops == 9 * 64
    # head on the one sampled row: 2 x 8 x 10
    assert found["head"].useful_flops == 160
    # K and V of 1 head x 4 wide x 2 layers x 4 B = 64 B a token, three written, none read
    assert found["attention"].state_write_bytes == 3 * 64
    assert found["attention"].state_read_bytes == 0


@pytest.mark.req("13.32")
def test_a_decode_step_of_two_sequences_by_hand() -> None:
    found = operators(*decode_sequences(batch=2, context=5), sampled=2)

    # weights 1352 x 4 B less the untied table (320 B) and the vectors of norms (40 x 4 B), plus two of its
    # ten rows (64 B); K/V: 2 x 5 x 64 B read, 2 x 64 B written
    assert total_bytes(found) == 5408 - 320 - 160 + 64 + 640 + 128
    # matrices 2 x 2 x (2 x 576 + 80) and attention 2 x 6 x 64
    assert total_useful_flops(found) == 4 * (1152 + 80) + 768
    assert total_executed_flops(found) == total_useful_flops(found)


@pytest.mark.req("10.08", "10.12")
@given(new=st.integers(1, 60), stored=st.integers(0, 200))
def test_two_chunks_do_the_pairs_of_one_prompt(new: int, stored: int) -> None:
    whole = SequenceStep(new=stored + new, stored=0).useful_pairs
    first = SequenceStep(new=stored, stored=0).useful_pairs if stored else 0

    assert first + SequenceStep(new=new, stored=stored).useful_pairs == whole


@given(batch=st.integers(1, 8), context=st.integers(1, 500), more=st.integers(1, 100))
def test_bytes_grow_with_batch_and_context(batch: int, context: int, more: int) -> None:
    size = total_bytes(operators(*decode_sequences(batch=batch, context=context), sampled=batch))

    wider = operators(*decode_sequences(batch=batch, context=context + more), sampled=batch)
    assert total_bytes(wider) - size == batch * more * 64


@pytest.mark.req("13.09", "13.07")
def test_a_step_bound_sums_its_serial_operators() -> None:
    found = operators(*decode_sequences(batch=1, context=5))
    bound = step_bound(found, **ROOFS)

    assert bound.seconds == pytest.approx(sum(max(o.useful_flops, o.bytes) for o in found) / 1e9)
    assert bound.bound_by == "memory"
    assert bound.memory_level == "DRAM"


@pytest.mark.req("13.06")
@pytest.mark.forbids
def test_stages_at_different_memory_levels_are_not_summed() -> None:
    work = {"flops": 1.0, "bytes_moved": 1.0, "peak_flops_per_s": 1.0, "bandwidth_bytes_per_s": 1.0}
    stages = [time_bound(**work, memory_level="L2"), time_bound(**work, memory_level="HBM")]

    with pytest.raises(ModelRefused, match="memory_level"):
        serial_bound(stages)


def test_a_roof_of_zero_is_refused() -> None:
    with pytest.raises(ModelRefused, match="no default for a physical constant"):
        time_bound(
            flops=1, bytes_moved=1, peak_flops_per_s=0, bandwidth_bytes_per_s=1, memory_level="L2"
        )


def test_a_ridge_that_no_rows_reach_is_refused() -> None:
    with pytest.raises(ModelRefused, match="No number of rows"):
        ridge_rows_square(d=1000, ridge=500)


@pytest.mark.req("10.36")
def test_state_is_three_functions_of_length() -> None:
    (kept,) = state_classes(SMOLLM2, kv_dtype="float32")

    assert kv_bytes_per_token(SMOLLM2, kv_dtype="float32") == 46080  # 2 x 3 x 64 x 30 x 4
    assert kv_bytes_per_token(SMOLLM2, kv_dtype="bfloat16") == 23040
    assert kept.resident_bytes(10) == 460_800
    assert kept.read_bytes(10) == 460_800
    assert kept.update_flops(10) == 4 * 576 * 30 * 10
    assert (kept.kind, kept.growth, kept.cap_tokens) == ("gqa_kv_cache", "linear", None)


def test_blocks_round_up() -> None:
    assert [blocks_for(n, block_tokens=16) for n in (0, 1, 16, 17)] == [0, 1, 1, 2]
    with pytest.raises(ModelRefused, match="block_tokens"):
        blocks_for(1, block_tokens=0)


@pytest.mark.req("12.07")
@pytest.mark.forbids
def test_a_thin_margin_is_not_called_impossible_and_weights_alone_prove_nothing() -> None:
    items: dict[str, Any] = {"weights_bytes": 90, "state_bytes": 5, "further_bytes": {}}

    thin = memory_budget(**items, margin=1.2, device_bytes=100)
    unknown = memory_budget(**items, margin=1.0, device_bytes=None)
    fits = memory_budget(**items, margin=1.0, device_bytes=100)

    assert (thin.fits, thin.headroom_bytes) == ("thin", -14)
    assert (unknown.fits, unknown.headroom_bytes) == ("unknown", None)
    assert fits.fits == "known items fit"
    assert "runtime context" in fits.unknown
    assert memory_budget(**items, margin=1.0, device_bytes=94).fits == "no"
    with pytest.raises(ModelRefused, match="margin"):
        memory_budget(**items, margin=0.9, device_bytes=100)


def test_sequences_that_fit_are_none_when_the_weights_do_not() -> None:
    sizes = {"further_bytes": 10, "bytes_per_sequence": 20}

    assert sequences_that_fit(device_bytes=200, weights_bytes=100, **sizes) == 4
    assert sequences_that_fit(device_bytes=100, weights_bytes=100, **sizes) == 0


@pytest.mark.req("13.01")
@pytest.mark.forbids
def test_capacity_is_binary_and_bandwidth_decimal() -> None:
    assert capacity_bytes("512 MiB") == 512 * 2**20
    assert bandwidth_bytes_per_s("3350 GB/s") == 3.35e12
    assert capacity_text(4294967296) == "4.00 GiB"
    for text, reader in (("24 GB", capacity_bytes), ("2 GiB/s", bandwidth_bytes_per_s)):
        with pytest.raises(ModelRefused, match="convert explicitly"):
            reader(text)
