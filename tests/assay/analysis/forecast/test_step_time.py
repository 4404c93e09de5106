"""Bound and estimate of a step, worked by hand on a machine with round figures."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.forecast.parameters import Known, measured_parameters
from assay.analysis.forecast.roofs import roofs_of
from assay.analysis.forecast.step_time import StepTimes
from assay.analysis.forecast.terms import MATMUL, Executed, row_shares
from assay.analysis.perfmodel.operators import SequenceStep, decode_sequences
from assay.analysis.perfmodel.precision import plain
from assay.analysis.perfmodel.quantization.weight_formats import uniform
from assay.analysis.perfmodel.weights import weight_bytes
from tests.assay.analysis import benchmarks
from tests.assay.analysis.perfmodel.structures import SMOLLM2

EXECUTED = Executed(
    structure=SMOLLM2,
    formats=uniform(plain("float32", field="dtype")),
    dtype="float32",
    kv_dtype="float32",
)


def known(**document: str) -> Known:
    stored = [benchmarks.document(**document)]  # type: ignore[arg-type]
    found = measured_parameters(stored, dtype="float32", threads=2)
    found.bound_by(
        roofs_of(
            stored,
            {"kind": "cpu", "name": "cpu"},
            elsewhere=False,
            dtype="float32",
            weight_bytes=weight_bytes(SMOLLM2, EXECUTED.formats),
        )
    )
    return found


def times() -> StepTimes:
    found = known().times
    assert found is not None
    return found


@pytest.mark.req("13.09", "13.10")
def test_a_decode_step_is_a_sum_of_named_parts() -> None:
    step = times().estimate(EXECUTED, decode_sequences(batch=1, context=100), sampled=1)

    # matrices 537,919,488 B / 20 GB/s = 26.895974 ms
    # element-wise 36 x 30 x 576 x 4 B = 2,488,320 B / 40 GB/s = 0.062208 ms
    # 30 layers x 0.3 ms = 9 ms; iteration 1 ms; one streamed token 0.5 ms
    # 101 x 46,080 B of K/V: copied (2 x) at 20 GB/s 0.465408 ms, read at 10 GB/s 0.465408 ms
    assert step.value == pytest.approx(38.388998e-3, rel=1e-6)


@pytest.mark.req("10.33", "13.08")
def test_the_bound_is_traffic_over_the_best_bandwidth() -> None:
    roofs = known().roofs
    assert roofs is not None

    bound = roofs.bound(EXECUTED.operators(decode_sequences(batch=1, context=100), sampled=1))

    # (537,919,488 + 100 x 46,080 read + 46,080 written) B / 20 GB/s
    assert bound.seconds == pytest.approx(542_573_568 / 20e9)
    assert bound.memory_level == "L3 and DRAM"


def test_rows_between_two_measured_counts_lie_on_the_line_between_them() -> None:
    # rows 2 lies a third of the way from 1 to 4: 2/3 of 1/20 ns and 1/3 of twice that
    only = {n: v.times(0) for n, v in times().values.items() if not n.startswith(MATMUL)}
    parts = replace(times(), values={**times().values, **only})

    step = parts.estimate(EXECUTED, decode_sequences(batch=2, context=10), sampled=2)

    assert row_shares(2, (1, 4, 16)) == [(1, pytest.approx(2 / 3)), (4, pytest.approx(1 / 3))]
    assert step.value == pytest.approx(537_919_488 / 20e9 * (2 / 3 + 2 / 3))


def test_beyond_the_largest_measured_count_time_grows_with_rows() -> None:
    # 512 rows take twice what 256 do: that end of the curve is bound by FLOPs
    one = times().estimate(EXECUTED, [SequenceStep(new=512, stored=0)], sampled=0)
    half = times().estimate(EXECUTED, [SequenceStep(new=256, stored=0)], sampled=0)
    fixed = 30 * benchmarks.LAYER_LAUNCH_S + 1e-3

    attention_more = 4 * 576 * 30 * (512**2 - 2 * 256**2) / 100e9
    assert one.value - fixed == pytest.approx(2 * (half.value - fixed) + attention_more, rel=1e-3)


@given(batch=st.integers(1, 8), context=st.integers(1, 2000))
def test_the_estimate_never_lies_under_the_bound_on_this_machine(batch: int, context: int) -> None:
    found = known()
    assert found.roofs is not None
    assert found.times is not None
    sequences = decode_sequences(batch=batch, context=context)

    estimate = found.times.estimate(EXECUTED, sequences, sampled=batch)

    bound = found.roofs.bound(EXECUTED.operators(sequences, sampled=batch)).seconds
    assert bound <= estimate.value
    assert estimate.low <= estimate.value <= estimate.high


def test_the_slope_is_what_one_more_stored_token_adds() -> None:
    slope = times().per_stored_token_s(EXECUTED, context=76).value

    near = times().estimate(EXECUTED, decode_sequences(batch=1, context=100), sampled=1)
    far = times().estimate(EXECUTED, decode_sequences(batch=1, context=1100), sampled=1)

    assert far.value - near.value == pytest.approx(1000 * slope)
    # 46,080 B: 2 x / 20 GB/s + / 10 GB/s = 9.216 us
    assert slope == pytest.approx(9.216e-6)


@pytest.mark.parametrize(
    "missing",
    [
        "layer_launch",
        "state_read.batch_1.context_1024",
        "state_gather.context_512",
        "attention_prefill.tokens_256",
        "read_sum.cache",
    ],
)
def test_without_one_of_its_figures_nothing_is_estimated_and_the_reason_said(missing: str) -> None:
    found = known(without=missing)

    assert found.times is None
    assert found.roofs is not None
    assert any(missing.split(".")[0] in line for line in found.assumptions)
