"""Stored formats: elements, their scales, and what padding takes."""

import pytest

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.precision import FlatScale, Scale, StoredFormat, dtype, dtype_bytes

HALVES_OF_32 = StoredFormat(name="x", bits=4, scales=(Scale(bits=16, columns=32),))


@pytest.mark.req("13.04")
def test_effective_bits_hold_the_scales_of_blocks() -> None:
    # 4 bits, a scale of 16 for 32 elements and a minimum of 16 for 64: 4 + 0.5 + 0.25
    stored = StoredFormat(
        name="x", bits=4, scales=(Scale(bits=16, columns=32), FlatScale(bits=16, elements=64))
    )

    assert stored.effective_bits == 4.75


def test_blocks_do_not_wrap_into_the_next_row() -> None:
    # 40 columns need two blocks of 32: 3 rows x 2 blocks x 2 B of scale, and 3 x 40 x 4 bits
    assert HALVES_OF_32.tensor_bytes(3, 40) == 60 + 12


def test_flat_blocks_do() -> None:
    # 120 elements: two blocks of 64, one float32 each
    stored = StoredFormat(name="x", bits=4, scales=(FlatScale(bits=32, elements=64),))

    assert stored.tensor_bytes(3, 40) == 60 + 8


@pytest.mark.parametrize(
    ("scale", "values"),
    [
        (Scale(bits=32, rows=None), 1),  # of the tensor
        (Scale(bits=32), 300),  # of each output
        (Scale(bits=32, rows=None, columns=1), 500),  # of each input
        (Scale(bits=32, columns=128), 300 * 4),
        (Scale(bits=32, rows=128, columns=128), 3 * 4),
        (Scale(bits=32, columns=128, padded_to=8), 300 * 8),
    ],
)
def test_tiles_at_the_edge_have_their_own_scale(scale: Scale, values: int) -> None:
    assert scale.count(300, 500) == values


@pytest.mark.req("13.05")
def test_a_row_is_padded_to_whole_words() -> None:
    # ten 3-bit elements a word of 32: 5 words for 41 of them, 2 rows
    stored = StoredFormat(name="x", bits=3.2, row_multiple=10)

    assert stored.tensor_bytes(2, 41) == 2 * 5 * 4


@pytest.mark.forbids
@pytest.mark.parametrize("name", ["4bit", "int4", "fp8_ds_mla", ""])
def test_a_width_alone_is_no_element_type(name: str) -> None:
    with pytest.raises(ModelRefused) as caught:
        dtype(name, field="kv-dtype")

    assert caught.value.finding.field == "kv-dtype"
    assert dtype_bytes("torch.float8_e4m3fn", field="x") == 1
