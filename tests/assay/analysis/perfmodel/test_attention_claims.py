"""What may be said of attention kernels and reordered caches, and on which evidence."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.perfmodel.attention_algebra import (
    ReorderingCheck,
    absorbed_score,
    expanded_score,
    full_softmax,
    online_softmax,
    reordering_holds,
)
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.kernel_gain import (
    Implementation,
    KernelGain,
    end_to_end_speed_up,
    share_of_bound,
)
from runners.protocol.events import EvidenceStrength

NUMBERS = st.floats(-30, 30)
CALLED = Implementation(
    algorithm="tiled attention with online softmax",
    library_kernel="flash_fwd_kernel",
    engine_dispatch="attention back end of the engine",
    strength=EvidenceStrength.trace,
    evidence="trace/kernels.json, 960 launches",
)
KNOWN = KernelGain(
    traffic_ratio=0.1,
    microbenchmark_speed_up=2.4,
    benchmark_shape="32 heads, 4096 tokens, bfloat16",
    called=CALLED,
)


@given(scores=st.lists(NUMBERS, min_size=1, max_size=12), block=st.integers(1, 5))
def test_blocks_change_nothing(scores: list[float], block: int) -> None:
    values = [float(i) for i in range(len(scores))]

    assert math.isclose(
        online_softmax(scores, values, block=block),
        full_softmax(scores, values),
        rel_tol=1e-9,
        abs_tol=1e-9,
    )


@given(
    query=st.lists(NUMBERS, min_size=2, max_size=2),
    latent=st.lists(NUMBERS, min_size=3, max_size=3),
)
def test_both_orders_score_alike(query: list[float], latent: list[float]) -> None:
    projection = [[1.0, 0.0, 2.0], [3.0, 1.0, 0.0]]

    one, other = (f(query, projection, latent) for f in (expanded_score, absorbed_score))

    assert math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-6)


@pytest.mark.req("10.38")
@pytest.mark.forbids
def test_algebra_proves_nothing_for_a_path_that_nobody_compared() -> None:
    checks = [
        ReorderingCheck(
            position_encoding="none", precision="float32", largest_error=1e-6, tolerance=1e-5
        ),
        ReorderingCheck(
            position_encoding="rotary on all of the key", precision="bfloat16",
            largest_error=0.3, tolerance=1e-2,
        ),
    ]  # fmt: skip

    assert reordering_holds(checks, position_encoding="none", precision="float32")
    assert not reordering_holds(
        checks, position_encoding="rotary on all of the key", precision="bfloat16"
    )
    with pytest.raises(ModelRefused, match="no comparison with none in float8_e4m3fn"):
        reordering_holds(checks, position_encoding="none", precision="float8_e4m3fn")


@pytest.mark.req("10.37")
def test_a_kernel_answers_three_questions_apart() -> None:
    nothing = KernelGain(
        traffic_ratio=None, microbenchmark_speed_up=None, benchmark_shape=None, called=None
    )

    assert [q.split("?")[0] for q in nothing.open_questions()] == [
        "less intermediate traffic", "fits shape and hardware", "did the engine call it",
    ]  # fmt: skip
    assert KNOWN.open_questions() == ()
    assert end_to_end_speed_up(KNOWN, before_s=1.2, after_s=1.0) == pytest.approx(1.2)


@pytest.mark.req("10.37", "13.14")
@pytest.mark.forbids
@pytest.mark.parametrize("strength", [EvidenceStrength.source, EvidenceStrength.log, None])
def test_less_traffic_and_a_fast_benchmark_do_not_replace_the_trace(
    strength: EvidenceStrength | None,
) -> None:
    seen = None if strength is None else replace(CALLED, strength=strength)
    untraced = replace(KNOWN, called=seen)

    with pytest.raises(ModelRefused, match="strength trace"):
        end_to_end_speed_up(untraced, before_s=1.2, after_s=1.0)


@pytest.mark.req("13.14")
@pytest.mark.forbids
def test_utilisation_says_nothing_of_the_distance_to_a_bound() -> None:
    assert share_of_bound(bound_s=0.004, measured_s=0.010) == pytest.approx(0.4)
    with pytest.raises(ModelRefused, match="utilisation is no bound"):
        share_of_bound(bound_s=None, measured_s=0.010)
    with pytest.raises(ModelRefused, match="no run beats its bound"):
        share_of_bound(bound_s=0.004, measured_s=0.003)
