"""Work and bytes of a step for every kind of mixer and feed-forward, by hand on one small layer."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.perfmodel.feed_forward.feed_forward import (
    DenseFeedForward,
    Experts,
    FeedForward,
)
from assay.analysis.perfmodel.mixers.attention import Attention
from assay.analysis.perfmodel.mixers.delta_net import GatedDeltaNet
from assay.analysis.perfmodel.mixers.latent import LatentAttention, SparseIndex
from assay.analysis.perfmodel.mixers.lightning import LightningAttention
from assay.analysis.perfmodel.mixers.mamba2 import Mamba2
from assay.analysis.perfmodel.mixers.mixer import Mixer
from assay.analysis.perfmodel.mixers.short_conv import ShortConvolution
from assay.analysis.perfmodel.mixers.span import Span
from assay.analysis.perfmodel.operators import Operator, SequenceStep, prompt_chunks
from assay.analysis.perfmodel.precision import plain
from assay.analysis.perfmodel.quantization.weight_formats import uniform
from assay.analysis.perfmodel.structure import Layer, Structure
from assay.analysis.perfmodel.work import PreparedModel, prepare

LATENT: dict[str, Any] = {
    "h": 2, "q_rank": None, "kv_rank": 8, "d_nope": 4, "d_rope": 2, "d_v": 4,
}  # fmt: skip


def prepared(mixer: Mixer | None, feed_forward: FeedForward | None = None) -> PreparedModel:
    structure = Structure(
        family="test", d_model=16, vocabulary=10, tied=False, declared_dtype="bfloat16",
        layers=(Layer(mixer=mixer, feed_forward=feed_forward),),
    )  # fmt: skip
    return prepare(
        structure,
        formats=uniform(plain("bfloat16", field="weights")),
        kv_dtype="bfloat16",
        activation_dtype="bfloat16",
        recurrent_dtype="float32",
    )


def stage(model: PreparedModel, name: str, *sequences: SequenceStep, sampled: int = 0) -> Operator:
    found = model.operators(model.load(sequences), sampled=sampled)
    (operator,) = [each for each in found if each.name == name]
    return operator


def decode(stored: int, *, batch: int = 1) -> list[SequenceStep]:
    return [SequenceStep(new=1, stored=stored)] * batch


def test_a_sliding_window_caps_reads_and_pairs() -> None:
    model = prepared(Attention(h=2, h_kv=1, d_k=4, d_v=4, span=Span.SLIDING, window=8))

    step = stage(model, "attention_sliding", *decode(100))
    prompt = stage(model, "attention_sliding", SequenceStep(new=10, stored=0))

    # 7 stored tokens and itself; 8 elements of 2 B a token; 2 x 2 heads x 8 FLOP a pair
    assert (step.state_read_bytes, step.state_write_bytes) == (7 * 16, 16)
    assert step.useful_flops == 8 * 32
    # 1 + .. + 8 pairs and twice 8 more; only the last 8 tokens stay
    assert prompt.useful_flops == (36 + 16) * 32
    assert prompt.state_write_bytes == 8 * 16
    assert prompt.executed_flops == 100 * 32


def test_a_chunk_starts_anew_at_every_multiple() -> None:
    model = prepared(Attention(h=2, h_kv=1, d_k=4, d_v=4, span=Span.CHUNKED, window=8))

    at_start, inside = (stage(model, "attention_chunked", *decode(n)) for n in (16, 21))

    assert (at_start.state_read_bytes, at_start.useful_flops) == (0, 32)
    assert (inside.state_read_bytes, inside.useful_flops) == (5 * 16, 6 * 32)


def test_a_latent_is_worked_on_as_it_is_or_expanded_by_phase() -> None:
    model = prepared(LatentAttention(**LATENT))

    step = stage(model, "attention_latent", *decode(50))
    prompt = stage(model, "attention_latent", SequenceStep(new=50, stored=0))
    chunk = stage(model, "attention_latent", SequenceStep(new=50, stored=50))

    # decode over 51: 2 x 2 heads x (2 x 8 + 2) FLOP a pair; 10 elements of 2 B a token, whatever the heads
    assert (step.form, step.useful_flops) == ("absorbed", 51 * 72)
    assert (step.state_read_bytes, step.state_write_bytes) == (50 * 20, 20)
    # prompt of 1275 pairs: 2 x 2 x (4 + 2 + 4) FLOP a pair on K and V of its own
    assert (prompt.form, prompt.useful_flops) == ("expanded", 1275 * 40)
    # 3775 pairs, and 50 stored latents expanded again at 2 x 2 x 8 x 8 FLOP
    assert (chunk.form, chunk.useful_flops) == ("expanded", 3775 * 40 + 50 * 256)


@pytest.mark.req("10.18")
def test_a_sparse_index_reads_all_its_keys_and_the_main_cache_keeps_all_tokens() -> None:
    model = prepared(LatentAttention(**LATENT, index=SparseIndex(heads=3, d_head=6, chosen=8)))

    index, main = (stage(model, name, *decode(100)) for name in ("index", "attention_latent"))

    # 100 keys of 6 B and a 4 B scale; 101 pairs of 2 x 3 x 7 FLOP
    assert (index.state_read_bytes, index.useful_flops) == (1000, 101 * 42)
    # 8 attended tokens, itself among them
    assert (main.state_read_bytes, main.useful_flops) == (7 * 20, 8 * 72)
    sizes = {kind.part.kind: kind.resident_bytes(100) for kind in _classes(model)}
    assert sizes == {"sparse_index_keys": 1000, "latent_kv_cache": 2000}


@pytest.mark.req("10.20")
@pytest.mark.parametrize(
    ("mixer", "elements", "flops", "pair"),
    [
        # 4 heads x 8 x 8, 6 FLOP an element; in a block 2 x 4 x (3 x 8 + 2 x 8) FLOP a pair
        (GatedDeltaNet(h_k=2, h_v=4, d_k=8, d_v=8, kernel=4), 256, 1536, 320),
        # 2 heads x 8 x 8, 4 FLOP an element; q k and its product with v
        (LightningAttention(h=2, d_head=8), 128, 512, 64),
        # 4 heads x 4 x 16; C B of one group and the product with x
        (Mamba2(heads=4, d_head=4, d_state=16, groups=1, kernel=4), 256, 1024, 64),
    ],
    ids=["delta net", "lightning", "mamba2"],
)
def test_a_recurrence_reads_and_writes_its_state_once_whatever_the_length(
    mixer: Mixer, elements: int, flops: int, pair: int
) -> None:
    model = prepared(mixer)

    short, long = (stage(model, "recurrence", *decode(n)) for n in (10, 10_000))
    prompt = stage(model, "recurrence", SequenceStep(new=40, stored=0))

    assert short == long
    assert (short.state_read_bytes, short.state_write_bytes) == (elements * 4, elements * 4)
    assert (short.useful_flops, short.executed_flops) == (flops, flops)
    assert short.form == "token by token"
    # a new sequence has nothing to read; kernels also compute the square of the 40 tokens
    assert (prompt.state_read_bytes, prompt.state_write_bytes) == (0, elements * 4)
    assert prompt.useful_flops == 40 * flops
    assert prompt.executed_flops == 40 * flops + 40 * 40 * pair


def test_blocks_of_a_long_prompt_are_not_one_square() -> None:
    model = prepared(GatedDeltaNet(h_k=2, h_v=4, d_k=8, d_v=8, kernel=4))

    prompt = stage(model, "recurrence", SequenceStep(new=130, stored=0))

    assert prompt.executed_flops - prompt.useful_flops == (2 * 64**2 + 2**2) * 320
    assert prompt.form == "blocks of 64"


def test_a_convolution_keeps_one_column_less_than_it_has_taps() -> None:
    found = stage(
        prepared(ShortConvolution(width=16, kernel=3)), "convolution", *decode(9, batch=2)
    )

    # 16 channels x 2 columns x 2 B for two sequences; 2 x 3 taps x 16 FLOP a token
    assert (found.state_read_bytes, found.state_write_bytes) == (128, 128)
    assert found.useful_flops == 2 * 96


@pytest.mark.req("13.34")
def test_experts_read_their_union_and_compute_on_the_chosen() -> None:
    model = prepared(None, Experts(experts=4, chosen=2, width=8, shared_width=6))
    two = decode(0, batch=2)
    routed, shared, router = (
        stage(model, name, *two) for name in ("moe_experts", "shared_experts", "router")
    )

    # 3 x 8 x 16 elements an expert; union 4 (1 - 1/4) = 3 of them; 2 rows x 2 experts compute
    assert routed.weight_bytes == 3 * 384 * 2
    assert routed.useful_flops == 2 * 2 * 2 * 384
    # all tokens pass the shared one and the router
    assert (shared.weight_bytes, shared.useful_flops) == (3 * 6 * 16 * 2, 2 * 2 * 3 * 6 * 16)
    assert (router.weight_bytes, router.useful_flops) == (4 * 16 * 2, 2 * 2 * 64)
    # a long prompt touches all of them, and no more than all
    prompt = stage(model, "moe_experts", SequenceStep(new=500, stored=0))
    assert prompt.weight_bytes == 4 * 384 * 2


@pytest.mark.req("13.34")
@given(batch=st.integers(1, 64), chosen=st.integers(1, 8))
def test_a_step_reads_at_least_what_one_token_chooses_and_at_most_all(
    batch: int, chosen: int
) -> None:
    model = prepared(None, Experts(experts=8, chosen=chosen, width=8))

    found = stage(model, "moe_experts", *decode(0, batch=batch))

    assert chosen * 768 - 1 <= found.weight_bytes <= 8 * 768
    assert found.useful_flops == 2 * batch * chosen * 384


@pytest.mark.req("10.07")
def test_sampling_grows_with_batch_and_vocabulary_and_is_in_no_bound() -> None:
    model = prepared(None, DenseFeedForward(width=8))

    found = stage(model, "sampling", *decode(0, batch=3), sampled=3)

    assert (found.rows, found.activation_bytes) == (3, 2 * 3 * 10 * 4)
    assert (found.bytes, found.useful_flops) == (0, 0)
    # a chunk that ends no prompt samples nothing and leaves the head alone
    names = {o.name for o in model.operators(model.load(decode(0)), sampled=0)}
    assert not names & {"sampling", "head"}


def test_chunks_of_a_prompt_begin_after_what_was_reused() -> None:
    assert prompt_chunks(tokens=10, reused=3, chunk=4) == [
        SequenceStep(new=4, stored=3),
        SequenceStep(new=3, stored=7),
    ]
    assert prompt_chunks(tokens=10, reused=0, chunk=None) == [SequenceStep(new=10, stored=0)]


MIXERS: list[Mixer] = [
    Attention(h=4, h_kv=2, d_k=4, d_v=4),
    Attention(h=4, h_kv=2, d_k=4, d_v=4, span=Span.SLIDING, window=16),
    Attention(h=4, h_kv=2, d_k=4, d_v=4, span=Span.CHUNKED, window=16),
    LatentAttention(**LATENT),
    LatentAttention(**LATENT, index=SparseIndex(heads=3, d_head=6, chosen=8)),
    GatedDeltaNet(h_k=2, h_v=4, d_k=8, d_v=8, kernel=4),
    LightningAttention(h=2, d_head=8),
    Mamba2(heads=4, d_head=4, d_state=16, groups=1, kernel=4),
    ShortConvolution(width=16, kernel=3),
]


@pytest.mark.req("13.12")
@pytest.mark.parametrize("mixer", MIXERS, ids=lambda mixer: str(mixer.kind))
@given(new=st.integers(1, 80), stored=st.integers(0, 80), more=st.integers(0, 40))
def test_work_never_shrinks_with_more_tokens_and_kernels_do_no_less_than_counts(
    mixer: Mixer, new: int, stored: int, more: int
) -> None:
    model = prepared(mixer)

    def total(step: SequenceStep) -> tuple[int, int]:
        found = model.operators(model.load([step]), sampled=0)
        return sum(o.useful_flops for o in found), sum(o.executed_flops for o in found)

    useful, executed = total(SequenceStep(new=new, stored=stored))
    longer, _ = total(SequenceStep(new=new + more, stored=stored))

    assert useful <= executed
    assert useful <= longer


def _classes(model: PreparedModel) -> list[Any]:
    return [stage.state for _, stages in model.kinds for stage in stages if hasattr(stage, "state")]
