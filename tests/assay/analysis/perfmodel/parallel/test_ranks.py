"""What one rank holds and does under a layout, and what several of them may be said to do together."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.feed_forward.feed_forward import DenseFeedForward, Experts, norm
from assay.analysis.perfmodel.mixers.delta_net import GatedDeltaNet
from assay.analysis.perfmodel.mixers.latent import LatentAttention
from assay.analysis.perfmodel.mixers.mixer import Mixer
from assay.analysis.perfmodel.operators import total_bytes, total_useful_flops
from assay.analysis.perfmodel.parallel.communication import layer_routing, step_messages
from assay.analysis.perfmodel.parallel.layout import Layout
from assay.analysis.perfmodel.parallel.messages import Account, Link, MessageKind
from assay.analysis.perfmodel.parallel.ranks import RankStage, rank_stages
from assay.analysis.perfmodel.parallel.shards import group_rows, rank_structure
from assay.analysis.perfmodel.parallel.step import ParallelStep, decode_step, tokens_per_s_at_most
from assay.analysis.perfmodel.precision import plain
from assay.analysis.perfmodel.quantization.weight_formats import uniform
from assay.analysis.perfmodel.roofs import DeviceRoofs
from assay.analysis.perfmodel.state import state_bytes
from assay.analysis.perfmodel.structure import Layer, Structure
from assay.analysis.perfmodel.weights import weight_bytes
from tests.assay.analysis.perfmodel.structures import REFERENCE_7B

ROOFS = DeviceRoofs(
    name="card", flops_per_s=1e15, bandwidth_bytes_per_s=2e12, memory_level="HBM",
    memory_bytes=80_000_000_000, sources=("test",),
)  # fmt: skip
LINKS = {Account.IN_DOMAIN: Link(alpha_s=6e-6, bytes_per_s=200e9, source="assumption")}
LATENT = LatentAttention(h=16, q_rank=64, kv_rank=32, d_nope=16, d_rope=8, d_v=16)
DELTA = GatedDeltaNet(h_k=4, h_v=8, d_k=16, d_v=16, kernel=4)
BF16 = uniform(plain("bfloat16", field="weights"))


def experts_model(*, layers: int = 4, mixer: Mixer = LATENT) -> Structure:
    """Layers of ``mixer`` with 8 experts, 2 chosen, and a shared one."""
    layer = Layer(
        mixer=mixer,
        feed_forward=Experts(experts=8, chosen=2, width=32, shared_width=64),
        other=(norm("input_layernorm", 64),),
    )
    return Structure(
        family="test", d_model=64, vocabulary=100, layers=(layer,) * layers, tied=False,
        declared_dtype="bfloat16",
    )  # fmt: skip


def stages(structure: Structure, layout: Layout) -> list[RankStage]:
    return rank_stages(
        structure, layout, formats=BF16, kv_dtype="bfloat16", activation_dtype="bfloat16"
    )


def step(structure: Structure, layout: Layout, **fields: Any) -> ParallelStep:
    known: dict[str, Any] = {"batch": 8, "context": 1000, "roofs": ROOFS, "links": LINKS}
    return decode_step(structure, stages(structure, layout), layout, **(known | fields))


@pytest.mark.parametrize(("tensor", "per_token"), [(1, 131072), (8, 16384), (16, 16384)])
def test_kv_heads_are_cut_as_far_as_they_go(tensor: int, per_token: int) -> None:
    rank = rank_structure(REFERENCE_7B, Layout(tensor=tensor))

    # 8 KV heads over 16 ranks: each rank holds one, two ranks the same one
    assert state_bytes(rank, tokens=1, kv_dtype="bfloat16") == per_token


def test_a_latent_lies_whole_on_every_tensor_rank_and_a_recurrent_state_does_not() -> None:
    def state(mixer: Mixer, tensor: int) -> int:
        rank = rank_structure(experts_model(mixer=mixer), Layout(tensor=tensor))
        return state_bytes(rank, tokens=10, kv_dtype="bfloat16", recurrent_dtype="float32")

    # 4 layers x 10 tokens x 40 elements x 2 B on each rank
    assert state(LATENT, 1) == state(LATENT, 4) == 3200
    # 8 heads x 16 x 16 x 4 B and (2 x 4 x 16 + 8 x 16) x 3 columns x 2 B, in 4 layers; a quarter of it
    assert state(DELTA, 1) == 4 * (8192 + 1536)
    assert state(DELTA, 4) == 4 * (2048 + 384)


def test_weights_of_four_ranks_by_hand() -> None:
    (rank,) = stages(REFERENCE_7B, Layout(tensor=4))
    whole = weight_bytes(REFERENCE_7B, BF16)
    replicated = 65 * 4096 * 2  # two norms a layer and the last one

    assert rank.weight_bytes == (whole - replicated) // 4 + replicated


def test_experts_are_spread_and_the_router_is_not() -> None:
    layout = Layout(tensor=1, data=4, expert=4)
    found = rank_structure(experts_model(), layout).layers[0].feed_forward

    assert isinstance(found, Experts)
    assert (found.experts, found.chosen, found.width) == (2, Fraction(1, 2), 32)
    assert (found.shared_width, found.routes) == (64, 8)
    assert group_rows(5, layout) == 20
    # with tensor ranks left over, each expert is cut as well
    cut = rank_structure(experts_model(), Layout(tensor=4, expert=2)).layers[0].feed_forward
    assert isinstance(cut, Experts)
    assert (cut.experts, cut.width, cut.shared_width) == (4, 16, 16)


def test_a_rank_reads_its_share_of_the_union_and_does_its_share_of_the_work() -> None:
    def routed(layout: Layout, batch: int) -> tuple[int, int]:
        found = step(experts_model(), layout, batch=batch).stage_operators[0]
        (experts,) = [each for each in found if each.name == "moe_experts"]
        return experts.weight_bytes, experts.useful_flops

    alone, spread = routed(Layout(), 16), routed(Layout(data=4, expert=4), 16)

    # 16 tokens reach the experts in both layouts; a rank of four holds a quarter of them
    assert spread[0] == pytest.approx(alone[0] / 4, rel=1e-3)
    assert spread[1] == alone[1] // 4


def test_stages_hold_all_weights_once_and_their_own_layers_state() -> None:
    structure = experts_model(layers=5)
    parts = stages(structure, Layout(pipeline=2))

    assert [len(part.layers) for part in parts] == [3, 2]
    assert sum(part.weight_bytes for part in parts) == weight_bytes(structure, BF16)
    assert [part.state_bytes(10) for part in parts] == [2400, 1600]
    # a tied table lies on the first and on the last stage
    tied = stages(replace(structure, tied=True), Layout(pipeline=2))
    both = sum(part.weight_bytes for part in tied)
    assert both == weight_bytes(replace(structure, tied=True), BF16) + 100 * 64 * 2


@pytest.mark.req("12.12", "13.16")
def test_messages_of_a_tensor_parallel_step() -> None:
    found = step_messages(REFERENCE_7B, Layout(tensor=8), rows=8, sampled=8, element_bytes=2)

    # 8 rows x 4096 x 2 B after each of 32 mixers and feed-forwards, and after the embedding
    layers, embedding, logits = found
    assert (layers.kind, layers.payload_bytes, layers.times) == (MessageKind.ALL_REDUCE, 65536, 64)
    assert (embedding.payload_bytes, embedding.times) == (65536, 1)
    assert (logits.kind, logits.payload_bytes) == (MessageKind.ALL_GATHER, 8 * 32000 * 2)
    assert step_messages(REFERENCE_7B, Layout(), rows=8, sampled=8, element_bytes=2) == []


@pytest.mark.req("12.12")
def test_replicas_that_share_experts_dispatch_across_domains() -> None:
    found = step_messages(
        experts_model(), Layout(data=16, expert=16, domain=8), rows=8, sampled=8, element_bytes=2
    )
    inside = step_messages(
        experts_model(), Layout(tensor=4, expert=4), rows=8, sampled=8, element_bytes=2
    )

    # 8 tokens x 64 x 2 B x 2 choices each way in each of 4 layers
    assert [m.what for m in found] == ["dispatch of routed tokens", "combine of routed tokens"]
    assert {(m.payload_bytes, m.times, m.ranks) for m in found} == {(2048, 4, 16)}
    assert {m.account for m in found} == {Account.ACROSS_DOMAINS}
    # tokens already lie on all tensor ranks: their all-reduce serves the experts
    assert MessageKind.ALL_TO_ALL not in {m.kind for m in inside}


@pytest.mark.req("10.24")
def test_the_payload_of_a_layout_still_lacks_copies_and_metadata() -> None:
    payload = layer_routing(
        experts_model(), rows=8, element_bytes=2, layout=Layout(data=4, expert=4)
    )

    assert payload is not None
    assert (payload.bytes, payload.cross_device_share) == (4096, 0.75)
    assert payload.not_stated() == ("duplicate sends to one rank", "metadata and padding")
    assert layer_routing(REFERENCE_7B, rows=8, element_bytes=2, layout=Layout()) is None


@pytest.mark.req("12.14")
def test_eight_ranks_are_not_eight_times_one() -> None:
    one, eight = step(REFERENCE_7B, Layout()), step(REFERENCE_7B, Layout(tensor=8))

    assert one.stage_bounds_s is not None
    assert eight.stage_bounds_s is not None
    assert eight.stage_bounds_s[0] == pytest.approx(one.stage_bounds_s[0] / 8, rel=0.01)
    assert one.communication_s == 0
    # 65 all-reduces of 6 us and 114,688 B, one gather of 6 us and 448,000 B
    assert eight.communication_s == pytest.approx(65 * 6.57344e-6 + 6e-6 + 448e3 / 200e9)
    assert tokens_per_s_at_most(eight) < 7 * tokens_per_s_at_most(one)


@pytest.mark.req("12.14")
@pytest.mark.forbids
def test_a_rate_of_several_devices_without_their_links_is_refused() -> None:
    unlinked = step(REFERENCE_7B, Layout(tensor=8), links={})
    unroofed = step(REFERENCE_7B, Layout(tensor=8), roofs=None)

    assert unlinked.stage_bounds_s is not None
    for found in (unlinked, unroofed):
        with pytest.raises(ModelRefused, match="device count times one rate is no answer"):
            tokens_per_s_at_most(found)


@pytest.mark.req("12.14")
def test_an_uneven_pipeline_is_paced_by_its_slowest_stage() -> None:
    links = LINKS | {Account.ACROSS_DOMAINS: LINKS[Account.IN_DOMAIN]}
    found = step(REFERENCE_7B, Layout(pipeline=3), batch=8, links=links)

    assert (found.micro_batch, found.in_flight) == (3, 3)
    assert found.pipeline is not None
    assert found.pipeline.imbalance > 1
    assert found.pipeline.pace_s == pytest.approx(max(found.pipeline.stage_s))


def test_all_ranks_together_do_the_work_of_one_device() -> None:
    one = step(REFERENCE_7B, Layout()).stage_operators[0]
    cut = step(REFERENCE_7B, Layout(tensor=4)).stage_operators[0]

    assert 4 * total_useful_flops(cut) == total_useful_flops(one)
    # only the looked-up rows of the untied table are not cut
    assert 4 * total_bytes(cut) == total_bytes(one) + 3 * 8 * 4096 * 2


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("structure", "layout", "field"),
    [
        (REFERENCE_7B, Layout(tensor=3), "query heads"),
        (REFERENCE_7B, Layout(data=2, expert=2), "no experts"),
        (experts_model(), Layout(data=16, expert=16), "experts over 16"),
        (experts_model(), Layout(tensor=4, data=3, expert=6), "divisor or multiple"),
    ],
    ids=["heads", "dense", "experts", "unaligned"],
)
def test_what_cannot_be_cut_is_refused(structure: Structure, layout: Layout, field: str) -> None:
    with pytest.raises(ModelRefused, match=field):
        rank_structure(structure, layout)


def test_a_dense_layer_beside_experts_is_cut_by_width() -> None:
    dense = replace(experts_model().layers[0], feed_forward=DenseFeedForward(width=128))
    structure = replace(experts_model(), layers=(dense, *experts_model().layers))

    found = rank_structure(structure, Layout(tensor=2)).layers[0].feed_forward

    assert isinstance(found, DenseFeedForward)
    assert found.width == 64
