"""Chapter 3 of the source: units, rooflines, budgets, residuals."""

import pytest

from assay.analysis.perfmodel import laws
from assay.analysis.perfmodel.bounds import (
    Bound,
    aggregated_bound_s,
    ridge_flops_per_byte,
    roof_flops_per_s,
    serial_bound,
    time_bound,
)
from assay.analysis.perfmodel.memory import memory_budget
from assay.analysis.perfmodel.precision import effective_bits, metadata_share
from assay.analysis.perfmodel.state import kv_bytes_per_token
from tests.assay.analysis.perfmodel.structures import REFERENCE_7B
from tests.golden.book import Example


def test_ridge_of_the_chapters_device() -> None:
    example = Example("ch3.0-ridge-point")

    example.expect(
        ridge=ridge_flops_per_byte(
            peak_flops_per_s=example["F_peak"], bandwidth_bytes_per_s=example["B_peak"]
        )
    )
    example.all_checked()


@pytest.mark.req("13.04")
def test_scales_count_as_bits() -> None:
    example = Example("ch3.2.3-block-scale")
    scales = {"scale_bits": example["scale_bits"], "block": example["block"]}

    example.expect(
        effective_bits=effective_bits(example["bits"], **scales),
        metadata_share=metadata_share(example["bits"], **scales),
    )
    example.all_checked()


@pytest.mark.req("13.02")
def test_gemm_work_and_ideal_bytes() -> None:
    example = Example("ch3.2.4-gemm-work-and-bytes")
    m, k, n, b = (example[name] for name in ("M", "K", "N", "b"))
    work = laws.gemm_flops(m=m, k=k, n=n)
    moved = laws.gemm_bytes(m=m, k=k, n=n, element_bytes=b)

    example.expect(
        W=work, Q_weight=k * n * b, Q_in=m * k * b, Q_out=m * n * b, Q=moved, I=work / moved
    )
    example.all_checked()


@pytest.mark.req("13.07")
def test_gemm_bounds() -> None:
    example = Example("ch3.2.4-gemm-bounds")
    roofs = {"peak_flops_per_s": example["F_peak"], "bandwidth_bytes_per_s": example["B_peak"]}
    bound = time_bound(
        flops=example["W"], bytes_moved=example["Q"], memory_level="device memory", **roofs
    )
    roof = roof_flops_per_s(example["W"] / example["Q"], **roofs)

    example.expect(
        t_compute=bound.compute_s * 1e6,
        t_memory=bound.memory_s * 1e6,
        t_min=bound.seconds * 1e6,
        tighter_bound=bound.bound_by,
        roof=roof / 1e12,
        roof_over_peak=roof / example["F_peak"],
    )
    example.all_checked()


@pytest.mark.req("13.15")
def test_rows_at_the_ridge_with_and_without_activations() -> None:
    example = Example("ch3.2.4-ridge-batch")
    d, ridge = example["d"], example["I_target"]

    def intensity(rows: int) -> float:
        return laws.gemm_flops(m=rows, k=d, n=d) / laws.gemm_bytes(
            m=rows, k=d, n=d, element_bytes=2
        )

    example.expect(
        M_exact=laws.ridge_rows_square(d=d, ridge=ridge),
        M_min_integer=laws.ridge_rows_square_whole(d=d, ridge=ridge),
        I_at_661=intensity(661),
        I_at_662=intensity(662),
        M_weight_only=laws.turning_rows(ridge=ridge, weight_bytes=2),
    )
    example.all_checked()


@pytest.mark.req("12.06")
def test_memory_budget_of_a_stated_load() -> None:
    example = Example("ch3.4.1-memory-budget")
    per_token = kv_bytes_per_token(REFERENCE_7B, kv_dtype="bfloat16")
    items = {name: round(example[name] * 1e9) for name in ("item3", "item4", "item5")}

    def budget(device: float, margin: float) -> float:
        found = memory_budget(
            weights_bytes=round(example["weights"] * 1e9),
            state_bytes=8 * 4096 * per_token,
            further_bytes=items,
            margin=margin,
            device_bytes=round(device * 1e9),
        )
        assert found.headroom_bytes is not None
        return found.known_bytes if margin == 1 else found.headroom_bytes

    with_margin = round(example["device"] * 1e9) - budget(example["device"], example["margin"])
    example.expect(
        kv_check=8 * 4096 * per_token / 1e9,
        subtotal=budget(example["device"], 1) / 1e9,
        with_margin=with_margin / 1e9,
        headroom_24=budget(example["device"], example["margin"]) / 1e9,
        headroom_40=budget(example["device_large"], example["margin"]) / 1e9,
    )
    example.all_checked()


@pytest.mark.req("13.16")
def test_small_messages_are_dominated_by_latency() -> None:
    example = Example("ch3.5.2-comm-latency")
    link = {
        "alpha_s": example["alpha"] / 1e6,
        "message_bytes": example["M"],
        "link_bytes_per_s": example["B_link"],
    }
    total = laws.transfer_time_s(**link)

    example.expect(
        t_bytes=example["M"] / example["B_link"] * 1e6,
        t_comm=total * 1e6,
        fixed_share=link["alpha_s"] / total,
        dominant="latency" if laws.latency_dominates(**link) else "bandwidth",
    )
    example.all_checked()


@pytest.mark.req("13.17", "13.18")
@pytest.mark.parametrize(
    "identity", ["ch3.6.1-amdahl-row1", "ch3.6.1-amdahl-row3", "ch3.6.1-amdahl-8pct-3x"]
)
def test_speed_gain_and_latency_reduction_are_two_percentages(identity: str) -> None:
    example = Example(identity)
    share = {"exposed_share": example["p"], "factor": example["s"]}
    speedup = laws.amdahl_speedup(**share)
    values = {
        "overall_speedup": speedup,
        "speed_gain": speedup - 1,
        "latency_reduction": laws.amdahl_latency_reduction(**share),
    }

    example.expect(**{name: values[name] for name in example.raw["expected"]})
    example.all_checked()
    assert "upper limit" in (laws.amdahl_speedup.__doc__ or "")


@pytest.mark.req("13.21")
def test_residual_is_measured_minus_predicted() -> None:
    example = Example("ch3.7.2-residual")
    predicted, observed = example["predicted"], example["observed"]

    example.expect(
        residual=observed - predicted,
        residual_relative=laws.relative_residual(predicted=predicted, measured=observed),
    )
    example.all_checked()


@pytest.mark.req("13.09")
def test_serial_stages_are_bounded_each_and_summed() -> None:
    example = Example("ch3.8.1-serial-stages")
    stages = [
        Bound(
            seconds=max(compute, memory),
            compute_s=compute,
            memory_s=memory,
            bound_by="compute" if compute >= memory else "memory",
            memory_level="device memory",
        )
        for compute, memory in ((example["cA"], example["mA"]), (example["cB"], example["mB"]))
    ]
    serial, merged = serial_bound(stages).seconds, aggregated_bound_s(stages)

    example.expect(per_stage_bound=serial, aggregated_bound=merged, gap=serial - merged)
    example.all_checked()
