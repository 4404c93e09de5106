"""Chapter 2 of the source: speculation, latents, sharing, experts, scans, and what kernels rest on."""

from dataclasses import replace
from itertools import pairwise

import pytest

from assay.analysis.perfmodel.attention_algebra import (
    absorbed_score,
    expanded_score,
    full_softmax,
    online_softmax,
)
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.laws import linear_flops
from assay.analysis.perfmodel.mixers.attention import Attention
from assay.analysis.perfmodel.mixers.latent import LatentAttention
from assay.analysis.perfmodel.parallel.routing import LOGICAL, routing_payload
from assay.analysis.perfmodel.scan import ScanPoint, input_axis, input_lengths
from assay.analysis.perfmodel.speculation import (
    AcceptanceRate,
    RoundCost,
    RoundPart,
    accepted_drafts,
    advance,
    speculative_round,
)
from assay.analysis.perfmodel.state import kv_bytes_per_token, state_classes
from assay.analysis.perfmodel.state_ledger import EXCLUDED
from assay.analysis.perfmodel.structure import Layer, Structure
from tests.golden.book import Example


@pytest.mark.req("10.02")
def test_accepted_drafts_and_advance_are_two_counts() -> None:
    example = Example("ch2.1.3-speculative-counts")
    accepted = accepted_drafts(example["alpha"], drafts=example["k"])
    advanced = advance(example["alpha"], drafts=example["k"])

    example.expect(
        accepted_drafts=accepted, advance_per_round=advanced, difference=advanced - accepted
    )
    example.all_checked()


@pytest.mark.req("10.03")
def test_speed_up_is_advance_over_the_cost_of_the_whole_round() -> None:
    example = Example("ch2.1.3-speculative-speedup")
    rate = AcceptanceRate(
        value=0.7,
        target="target",
        draft="draft",
        load="text",
        batch=1,
        evidence="the text's figure",
    )
    cost = RoundCost(relative=example["c"], covers=frozenset(RoundPart))

    found = speculative_round(rate, drafts=4, cost=cost, plain_step_s=None)

    example.expect(
        cost_per_token=found.cost_per_token,
        speedup=found.speed_up,
        break_even_c=found.break_even_cost,
    )
    example.all_checked()


@pytest.mark.req("10.23")
def test_one_parameter_count_does_not_serve_three_lists() -> None:
    example = Example("ch2.5.1-moe-three-lists")
    active, total = example["P_active"], example["P_total"]

    example.expect(
        flop_per_token=linear_flops(parameters=active, tokens=1) / 1e9,
        resident_weights=total * example["b"] / 1e9,
        total_over_active=total / active,
    )
    example.all_checked()


@pytest.mark.req("10.24")
def test_routing_bytes_are_the_logical_payload_of_one_layer() -> None:
    example = Example("ch2.5.2-moe-routing-bytes")

    payload = routing_payload(
        tokens=example["B"],
        d_model=example["d_model"],
        element_bytes=example["b"],
        chosen=example["k"],
    )

    example.expect(bytes=payload.bytes, kib=payload.bytes / 1024)
    example.all_checked()
    assert payload.label == LOGICAL


@pytest.mark.req("11.02", "11.05")
def test_the_scan_grid_is_of_real_token_counts() -> None:
    example = Example("ch2.7.2-scan-grid")
    lengths = input_lengths(None, output_tokens=64)
    ran = [ScanPoint(input_tokens=n, output_tokens=64, cap=1024) for n in lengths]

    axis = input_axis(ran)

    assert axis == example["grid"]
    factors = {after / before for before, after in pairwise(axis)}
    assert len(factors) == 1
    example.expect(n_points=len(axis), step_factor=factors.pop())
    example.all_checked()


@pytest.mark.req("10.38")
def test_absorbing_the_projection_gives_the_same_score() -> None:
    example = Example("ch2.8.2-mla-absorption")
    operands = (example["q"], example["W"], example["c"])
    expanded, absorbed = expanded_score(*operands), absorbed_score(*operands)

    example.expect(
        score_expanded=expanded, score_absorbed=absorbed, equal=bool(expanded == absorbed)
    )
    example.all_checked()


@pytest.mark.req("10.37")
def test_softmax_in_blocks_gives_the_same_weights() -> None:
    example = Example("ch2.8.3-online-softmax")
    full = full_softmax(example["s"], example["v"])
    blocks = online_softmax(example["s"], example["v"], block=example["block"])

    example.expect(full=full, blockwise=blocks, equal=abs(full - blocks) < 1e-9)
    example.all_checked()


def latent(layers: int, *, d_c: int, d_r: int) -> Structure:
    """A decoder whose only state are latents of ``d_c`` and rotary keys of ``d_r``."""
    mixer = LatentAttention(h=128, q_rank=1536, kv_rank=d_c, d_nope=128, d_rope=d_r, d_v=128)
    layer = Layer(mixer=mixer, feed_forward=None)
    return Structure(
        family="latent", d_model=7168, vocabulary=1000, layers=(layer,) * layers, tied=True
    )


@pytest.mark.req("10.15")
@pytest.mark.forbids
def test_compressed_latents_have_a_formula_of_their_own() -> None:
    example = Example("ch2.4.2-mla-bytes")
    structure = latent(example["L"], d_c=example["d_c"], d_r=example["d_r"])
    (kept,) = state_classes(structure, kv_dtype="bfloat16")

    example.expect(
        bytes_per_token=kept.bytes_per_token,
        kib_per_token=kept.bytes_per_token / 1024,
        gqa_over_mla=example["gqa_bytes"] / kept.bytes_per_token,
    )
    example.all_checked()
    with pytest.raises(ModelRefused, match="mla"):
        kv_bytes_per_token(structure, kv_dtype="bfloat16")


@pytest.mark.req("10.15", "10.22")
def test_the_compressed_layout_of_a_named_model() -> None:
    example = Example("ch2.8.1-deepseek-v3")
    structure = latent(example["L"], d_c=example["d_c"], d_r=example["d_r"])
    (kept,) = state_classes(structure, kv_dtype="bfloat16")

    example.expect(bytes_per_token=kept.bytes_per_token, kib_per_token=kept.bytes_per_token / 1024)
    example.all_checked()
    assert {"scratch", "alignment", "copies"} <= set(" ".join(EXCLUDED).split())


@pytest.mark.req("10.19")
def test_state_that_layers_share_is_charged_once() -> None:
    example = Example("ch2.4.4-cross-layer-sharing")
    own = Attention(h=4, h_kv=4, d_k=64, d_v=64)  # 512 elements, 1024 B a token
    owner = Layer(mixer=own, feed_forward=None)
    reader = Layer(mixer=replace(own, shares_layer=0), feed_forward=None)
    structure = Structure(
        family="shared", d_model=256, vocabulary=10,
        layers=(owner, *(reader,) * (example["m"] - 1)), tied=True,
    )  # fmt: skip
    (kept,) = state_classes(structure, kv_dtype="bfloat16")

    example.expect(
        capacity_charged=kept.resident_bytes(1),
        wrong_charge=kept.resident_bytes(1) * kept.reading_layers,
    )
    example.all_checked()
