"""Work and state of each mixer, counted on paper."""

import pytest

from assay.analysis.perfmodel.mixers.delta_net import GatedDeltaNet
from assay.analysis.perfmodel.mixers.latent import LatentAttention, SparseIndex
from assay.analysis.perfmodel.mixers.lightning import LightningAttention
from assay.analysis.perfmodel.mixers.mamba import Mamba
from assay.analysis.perfmodel.mixers.mamba2 import Mamba2
from assay.analysis.perfmodel.mixers.mixer import Mixer, StoredAs
from assay.analysis.perfmodel.mixers.short_conv import ShortConvolution

# 2 heads, latents of 6 and a rotary key of 2, keys of 4 + 2, values of 5
LATENT = LatentAttention(h=2, q_rank=None, kv_rank=6, d_nope=4, d_rope=2, d_v=5)
RECURRENT: list[tuple[Mixer, int, int, int]] = [
    # channels 2 x 2 x 4 + 3 x 5 = 31 over 3 kept columns; 3 matrices of 4 x 5, 6 FLOP an element
    (GatedDeltaNet(h_k=2, h_v=3, d_k=4, d_v=5, kernel=4), 93, 60, 6),
    # channels 2 x 3 + 2 x 4 = 14 over 3 columns; 6 channels of 4, 4 FLOP an element
    (Mamba2(heads=2, d_head=3, d_state=4, groups=1, kernel=4), 42, 24, 4),
    (Mamba(inner=6, d_state=4, step_rank=2, kernel=4), 18, 24, 4),
    # no convolution; 2 matrices of 3 x 3
    (LightningAttention(h=2, d_head=3), 0, 18, 4),
]


@pytest.mark.req("10.36")
def test_latent_attention_works_on_latents_or_expands_them_whichever_is_less() -> None:
    (part,) = LATENT.reads()

    # one new token over 10: 11 pairs of 2 x 2 x (2 x 6 + 2) FLOP; expanding 10 x 2 x 2 x 9 x 6 costs more
    assert part.useful_flops(new=1, stored=10) == 11 * 56
    # a prompt of 10: 55 pairs of 2 x 2 x (4 + 2 + 5) FLOP and nothing stored to expand
    assert part.useful_flops(new=10, stored=0) == 55 * 44
    assert part.per_token == 8


def test_a_sparse_index_compares_with_all_tokens_and_attention_reads_the_chosen() -> None:
    sparse = LatentAttention(
        h=2, q_rank=3, kv_rank=6, d_nope=4, d_rope=2, d_v=5,
        index=SparseIndex(heads=3, d_head=4, chosen=5),
    )  # fmt: skip
    index, latent = sparse.reads()

    assert (latent.read(100), latent.kept(100), index.read(100)) == (4, 100, 100)
    # 101 keys x 3 heads x (4 products and one weight) x 2 FLOP
    assert index.useful_flops(new=1, stored=100) == 101 * 30
    assert latent.useful_flops(new=1, stored=100) == 5 * 56


@pytest.mark.req("10.20", "10.36")
@pytest.mark.parametrize(("mixer", "columns", "elements", "flops"), RECURRENT)
def test_recurrent_state_has_one_size_and_one_cost_at_every_length(
    mixer: Mixer, columns: int, elements: int, flops: int
) -> None:
    parts = {part.stored_as: part for part in mixer.state()}
    state = parts[StoredAs.RECURRENT]

    assert state.constant == elements
    assert (parts[StoredAs.CONVOLUTION].constant if columns else 0) == columns
    assert state.per_token == 0
    for stored in (0, 5, 5000):
        assert state.useful_flops(new=1, stored=stored) == elements * flops
        assert state.useful_flops(new=7, stored=stored) == 7 * elements * flops


def test_a_short_convolution_keeps_columns_only() -> None:
    (part,) = ShortConvolution(width=8, kernel=3).state()

    assert (part.stored_as, part.constant, part.per_token) == (StoredAs.CONVOLUTION, 16, 0)
    assert part.useful_flops(new=2, stored=9) == 2 * 2 * 3 * 8
