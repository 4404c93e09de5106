"""Chapter 10 of the source: the throughput and latency model."""

import pytest

from assay.analysis.absence import Absent
from assay.analysis.metrics.client import tpot_last_token
from assay.analysis.perfmodel import laws
from assay.analysis.perfmodel.bounds import kernel_sum_estimate_s, time_bound
from assay.analysis.perfmodel.operators import Operator, decode_sequences
from assay.analysis.perfmodel.precision import plain
from assay.analysis.perfmodel.quantization.weight_formats import uniform
from assay.analysis.perfmodel.structure import Structure
from assay.analysis.perfmodel.work import step_operators
from assay.analysis.wire.attempt import Attempt
from tests.assay.analysis import streams
from tests.assay.analysis.perfmodel.structures import REFERENCE_7B
from tests.golden.book import Example

MS_PER_S = 1e3


@pytest.mark.req("14.03")
def test_tpot_ends_at_the_last_token_and_needs_two() -> None:
    example = Example("ch10.1-tpot-definition")

    tpot, one = (tpot_last_token(_reply(example, tokens), None) for tokens in (example["N"], 1))

    assert isinstance(tpot, float)
    example.expect(tpot=tpot * MS_PER_S, defined_for_N1=not isinstance(one, Absent))
    example.all_checked()


def _reply(example: Example, tokens: int) -> Attempt:
    """First and last content at the example's times; the end of the reply comes later and does not count."""
    first, last = example["t_first"], example["t_last"]
    return streams.reply(
        (first, streams.delta("a")),
        (last, streams.delta("b", finish="stop") + streams.usage(tokens)),
        (last + 500, streams.DONE),
    )


@pytest.mark.req("14.04")
def test_aggregate_and_single_sequence_rates_differ_by_the_batch() -> None:
    example = Example("ch10.1-aggregate-vs-sequence")
    step_s = example["t"] / 1e3
    together = laws.aggregate_rate(batch=example["B"], step_s=step_s)
    single = laws.sequence_rate(step_s=step_s)

    example.expect(aggregate=together, per_sequence=single, ratio=together / single)
    example.all_checked()


@pytest.mark.req("13.07", "13.08")
def test_the_bound_is_the_larger_side_and_never_the_sum() -> None:
    example = Example("ch10.2-roofline-bound")
    bound = time_bound(
        flops=example["F"],
        bytes_moved=example["D"],
        peak_flops_per_s=example["C_peak"],
        bandwidth_bytes_per_s=example["beta_peak"],
        memory_level="HBM",
    )

    example.expect(
        t_compute=bound.compute_s * 1e3,
        t_memory=bound.memory_s * 1e3,
        t_lower_bound=bound.seconds * 1e3,
        wrong_additive=(bound.compute_s + bound.memory_s) * 1e3,
    )
    example.all_checked()
    assert bound.seconds < bound.compute_s + bound.memory_s


@pytest.mark.req("13.10")
def test_estimate_sums_kernels_and_exposed_time() -> None:
    example = Example("ch10.2-kernel-sum-estimate")
    kernels = [(a, b) for a, b in example["kernels"]]

    example.expect(
        estimate=kernel_sum_estimate_s(kernels, other_exposed_s=example["other_exposed"])
    )
    example.all_checked()


@pytest.mark.req("13.31")
def test_weight_only_intensity_grows_with_rows() -> None:
    example = Example("ch10.3-batch-intensity")

    example.expect(
        intensity_per_unit_batch=laws.weight_only_intensity(rows=1, weight_bytes=example["b_w"]),
        B_turn=laws.turning_rows(ridge=example["machine_ratio"], weight_bytes=example["b_w"]),
    )
    example.all_checked()
    assert "Not an optimal batch" in (laws.turning_rows.__doc__ or "")


def test_prefill_rows_lie_above_the_machine_ratio() -> None:
    example = Example("ch10.3-prefill-intensity")
    intensity = laws.weight_only_intensity(
        rows=example["B"] * example["S"], weight_bytes=example["b_w"]
    )

    example.expect(intensity=intensity, above_machine_ratio=intensity > example["machine_ratio"])
    example.all_checked()


@pytest.mark.req("13.32")
def test_decode_traffic_counts_old_reads_and_new_writes() -> None:
    example = Example("ch10.4-decode-hbm-traffic")
    kv = {
        "layers": example["L"],
        "batch": example["B"],
        "kv_width": example["d_kv"],
        "kv_element_bytes": example["b_kv"],
    }
    total = laws.decode_bytes(
        weight_bytes=example["P"] * example["b_w"], stored=example["T"], activation_bytes=0, **kv
    )
    attention = _attention(REFERENCE_7B, batch=example["B"], stored=example["T"])

    example.expect(
        kv_read=attention.state_read_bytes,
        kv_write=attention.state_write_bytes,
        D_dec=total,
        D_dec_GB=total / 1e9,
    )
    example.all_checked()


@pytest.mark.req("14.11")
def test_decode_rate_ceiling_is_the_smaller_roof() -> None:
    example = Example("ch10.4-tps-ceiling")
    batch, flops, moved = example["B"], example["F_dec"], example["D_dec"]

    example.expect(
        compute_ceiling=batch * example["C"] / flops,
        memory_ceiling=batch * example["beta"] / moved,
        tps_ceiling=laws.decode_rate_ceiling(
            batch=batch,
            flops=flops,
            bytes_moved=moved,
            peak_flops_per_s=example["C"],
            bandwidth=example["beta"],
        ),
    )
    example.all_checked()
    assert "no benchmark result" in (laws.decode_rate_ceiling.__doc__ or "")


@pytest.mark.req("13.33")
def test_kv_crossover_shrinks_with_the_batch() -> None:
    example = Example("ch10.5-kv-crossover")

    def crossover(batch: int) -> float:
        return laws.kv_crossover_tokens(
            weight_bytes=example["P"] * example["b_w"],
            layers=example["L"],
            batch=batch,
            kv_width=example["d_kv"],
            kv_element_bytes=example["b_kv"],
        )

    example.expect(T_cross_B1=crossover(1), T_cross_B8=crossover(8), T_cross_B32=crossover(32))
    example.all_checked()


@pytest.mark.req("13.33")
def test_attention_intensity_under_ideal_reuse() -> None:
    example = Example("ch10.5-attention-intensity")
    h, b = example["h_q"], example["b_kv"]
    attention = _attention(REFERENCE_7B, batch=example["B"], stored=example["T"])
    # The new token attends to itself too: (T + 1) / T of the formula, and its own K/V is written.
    long_form = (
        attention.useful_flops / attention.state_read_bytes * example["T"] / (example["T"] + 1)
    )

    example.expect(
        I_gqa8=laws.attention_intensity(h=h, h_kv=8, kv_element_bytes=b),
        I_mha=laws.attention_intensity(h=h, h_kv=h, kv_element_bytes=b),
        I_mqa=laws.attention_intensity(h=h, h_kv=1, kv_element_bytes=b),
        I_gqa8_long_form=long_form,
    )
    example.all_checked()


@pytest.mark.req("13.34")
def test_a_step_reads_the_expected_union_of_experts() -> None:
    example = Example("ch10.6-expert-union")
    experts, chosen = example["E"], example["k"]

    example.expect(
        p_untouched=laws.untouched_share(experts=experts, chosen=chosen, tokens=example["B"]),
        expected_experts=laws.expected_experts(experts=experts, chosen=chosen, tokens=example["B"]),
        expected_experts_B1=laws.expected_experts(experts=experts, chosen=chosen, tokens=1),
    )
    example.all_checked()


def _attention(structure: Structure, *, batch: int, stored: int) -> Operator:
    operators = step_operators(
        structure,
        decode_sequences(batch=batch, context=stored),
        formats=uniform(plain("bfloat16", field="dtype")),
        kv_dtype="bfloat16",
        activation_dtype="bfloat16",
        sampled=batch,
    )
    return next(o for o in operators if o.kind == "attention")
