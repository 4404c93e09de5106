"""Chapter 2 of the source: work, state and traffic of a decoder."""

import pytest

from assay.analysis.perfmodel import laws
from assay.analysis.perfmodel.bounds import time_bound
from assay.analysis.perfmodel.state import kv_bytes_per_token, state_classes
from tests.assay.analysis.perfmodel.structures import QWEN_7B, REFERENCE_7B, reference_7b
from tests.golden.book import Example


@pytest.mark.req("10.09")
def test_attention_and_linear_work_at_4096_tokens() -> None:
    example = Example("ch2.2.2-attention-linear-flops")
    attention = laws.attention_flops_full_square(
        layers=example["L"], tokens=example["S"], d_model=example["d_model"]
    )
    linear = laws.linear_flops(parameters=example["P"], tokens=example["T"])

    example.expect(
        flops_attn=attention / 1e12,
        flops_lin=linear / 1e12,
        attn_over_lin=attention / linear,
        attn_share_of_total=attention / (attention + linear),
    )
    example.all_checked()


@pytest.mark.req("10.09")
def test_attention_share_at_four_times_the_length() -> None:
    example = Example("ch2.2.2-attention-share-16384")
    attention = laws.attention_flops_full_square(
        layers=example["L"], tokens=example["S"], d_model=example["d_model"]
    )
    linear = laws.linear_flops(parameters=example["P"], tokens=example["T"])

    example.expect(
        flops_attn=attention / 1e12,
        flops_lin=linear / 1e12,
        attn_share_of_total=attention / (attention + linear),
        attn_exceeds_lin=attention > linear,
    )
    example.all_checked()


@pytest.mark.req("10.10")
def test_equal_length_is_algebra() -> None:
    example = Example("ch2.2.2-equal-length")

    example.expect(
        S_star=laws.equal_length_tokens(
            parameters=example["P"], layers=example["L"], d_model=example["d_model"]
        )
    )
    example.all_checked()
    assert "not a measured bottleneck" in (laws.equal_length_tokens.__doc__ or "")


@pytest.mark.req("10.11")
def test_useful_work_is_about_half_of_the_square() -> None:
    example = Example("ch2.2.2-causal-half")
    tokens = example["S"]

    example.expect(useful_over_counted=laws.causal_pairs(reused=0, new=tokens) / tokens**2)
    example.all_checked()


@pytest.mark.req("10.12")
def test_pairs_after_a_prefix_hit() -> None:
    example = Example("ch2.2.2-prefix-hit-pairs")
    reused, new = example["H"], example["U"]
    hit = laws.causal_pairs(reused=reused, new=new)
    alone = laws.causal_pairs(reused=0, new=new)
    full = laws.causal_pairs(reused=0, new=reused + new)

    example.expect(
        pairs_with_prefix=hit,
        pairs_independent_U=alone,
        ratio_to_independent=hit / alone,
        pairs_full_recompute=full,
        pairs_saved_fraction=1 - hit / full,
    )
    example.all_checked()


@pytest.mark.req("10.14")
def test_state_bytes_of_the_reference_model() -> None:
    example = Example("ch2.2.3-kv-bytes")
    (kept,) = state_classes(REFERENCE_7B, kv_dtype="bfloat16")

    example.expect(
        bytes_per_token=kept.bytes_per_token,
        kib_per_token=kept.bytes_per_token / 1024,
        seq_mib=kept.resident_bytes(example["S"]) / 2**20,
    )
    example.all_checked()


@pytest.mark.req("10.14")
def test_state_follows_the_number_of_kv_heads() -> None:
    example = Example("ch2.4.1-gqa-vs-mqa")
    by_heads = {
        h_kv: kv_bytes_per_token(reference_7b(h_kv=h_kv), kv_dtype="bfloat16")
        for h_kv in (1, 8, 32)
    }

    example.expect(
        gqa=by_heads[8] / 1024,
        mqa=by_heads[1] / 1024,
        ratio=by_heads[8] / by_heads[1],
        mha_h32=by_heads[32] / 1024,
    )
    example.all_checked()


@pytest.mark.req("10.14")
def test_a_named_model_has_its_own_state() -> None:
    example = Example("ch2.8.1-qwen2.5-7b")
    (kept,) = state_classes(QWEN_7B, kv_dtype="bfloat16")

    example.expect(
        d_head_check=QWEN_7B.d_model // 28,
        bytes_per_token=kept.bytes_per_token,
        kib_per_token=kept.bytes_per_token / 1024,
        seq_mib=kept.resident_bytes(example["S"]) / 2**20,
    )
    example.all_checked()


@pytest.mark.req("10.33")
def test_ideal_decode_step() -> None:
    example = Example("ch2.3.1-decode-step")
    weights = example["P"] * example["b"] / 1e9
    state = example["kv_token"] * example["S"] / 1e9
    step_gb = weights + example["B"] * state
    step_s = time_bound(
        flops=0.0,
        bytes_moved=step_gb * 1e9,
        peak_flops_per_s=1e15,
        bandwidth_bytes_per_s=example["bw"] * 1e9,
        memory_level="HBM",
    ).seconds

    example.expect(
        weights=weights,
        state_seq=state,
        step_bytes=step_gb,
        t_step=step_s * 1e3,
        per_seq_rate=laws.sequence_rate(step_s=step_s),
        aggregate_rate=laws.aggregate_rate(batch=example["B"], step_s=step_s),
    )
    example.all_checked()


@pytest.mark.req("13.06")
def test_batching_raises_intensity() -> None:
    example = Example("ch2.3.2-arithmetic-intensity")
    found = {}
    for batch in (1, 8):
        gflop = laws.linear_flops(parameters=example["P"], tokens=batch) / 1e9
        gb = example["weights"] + batch * example["state_seq"]
        found |= {f"flop_B{batch}": gflop, f"bytes_B{batch}": gb, f"intensity_B{batch}": gflop / gb}

    example.expect(**found)
    example.all_checked()
