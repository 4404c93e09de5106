"""Packed weights are the dequantized ones bit for bit, and nothing else stays unpacked."""

import hashlib
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch

from runners.engines.torch.model import load
from runners.engines.torch.packed import PIECE, PackedLinear, PackedWeight
from runners.engines.torch.settings import ServerConfig
from runners.protocol.errors import Refused
from tests.runners.engines.torch import tiny
from tests.runners.engines.torch.configs import server_config

pytestmark = pytest.mark.engine
Q4_1, Q8_0, Q5_0 = (
    gguf.GGMLQuantizationType.Q4_1,
    gguf.GGMLQuantizationType.Q8_0,
    gguf.GGMLQuantizationType.Q5_0,
)


@pytest.mark.parametrize("kind", [Q4_1, Q8_0])
@pytest.mark.parametrize("rows", [3, PIECE + 5])
def test_unpacked_equals_ggufs_own_dequantization(
    kind: gguf.GGMLQuantizationType, rows: int
) -> None:
    values = np.random.default_rng(1).normal(size=(rows, 64)).astype(np.float32)
    raw = gguf.quants.quantize(values, kind)

    weight = PackedWeight(raw, kind=kind.name, columns=64)

    whole = torch.cat([weight.unpacked(p, torch.float32) for p in weight.pieces()], dim=1).t()
    assert torch.equal(whole, torch.from_numpy(gguf.quants.dequantize(raw, kind)))
    picked = torch.tensor([2, 0, rows - 1])
    assert torch.equal(weight.gathered(picked, torch.float32), whole[picked])


def test_a_packed_layer_multiplies_like_a_dense_one() -> None:
    values = np.random.default_rng(2).normal(size=(PIECE + 9, 96)).astype(np.float32)
    raw = gguf.quants.quantize(values, Q4_1)
    dense = torch.from_numpy(gguf.quants.dequantize(raw, Q4_1))
    x = torch.randn(5, 96)

    got = PackedLinear(PackedWeight(raw, kind="Q4_1", columns=96))(x)

    torch.testing.assert_close(got, x @ dense.T, rtol=1e-5, atol=1e-5)


@pytest.fixture(scope="module")
def gguf_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    tiny.write_gguf(path, Q4_1)
    return path


def config_of(path: Path, **settings: Any) -> ServerConfig:
    return server_config(path, "gguf", max_length=128, **settings)


@pytest.mark.req("5.25")
def test_packed_and_dequantized_loads_hold_the_same_numbers(gguf_file: Path) -> None:
    dense = load(config_of(gguf_file, weights="dequantized"))
    packed = load(config_of(gguf_file, weights="packed"))

    compared = 0
    for name, module in packed.model.named_modules():
        if isinstance(module, PackedLinear):
            weight = module.packed
            pieces = [weight.unpacked(p, torch.float32) for p in weight.pieces()]
            assert torch.equal(torch.cat(pieces, dim=1).t(), dense.model.get_submodule(name).weight)
            compared += 1
    # seven products a layer, and the tied output
    assert compared == 7 * tiny.LAYERS + 1
    # what is in memory, not what the file is called, says which of the two was loaded
    assert set(dense.facts["weight_tensors_by_dtype"]) == {"float32"}
    assert {"uint8", "int8", "float16"} <= set(packed.facts["weight_tensors_by_dtype"])
    assert packed.facts["weight_bytes_in_memory"] < dense.facts["weight_bytes_in_memory"] / 3


def test_a_dequantized_file_gives_the_model_it_was_made_from(gguf_file: Path) -> None:
    original = tiny.model(paged=False).state_dict()["model.layers.0.self_attn.q_proj.weight"]

    loaded = load(config_of(gguf_file, weights="dequantized")).model

    read = loaded.model.layers[0].self_attn.q_proj.weight
    # a 4-bit step of a block is (max - min) / 15; half of it bounds the error
    assert float((read - original).abs().max()) < float(original.max() - original.min()) / 15


@pytest.mark.forbids
def test_a_type_that_cannot_stay_packed_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "q5.gguf"
    tiny.write_gguf(path, Q5_0)

    with pytest.raises(Refused, match=r"blk\.0\.attn_k\.weight|blk\.0.*Q5_0"):
        load(config_of(path, weights="packed"))


def test_a_type_that_only_gguf_reads_is_dequantized_too(tmp_path: Path) -> None:
    path = tmp_path / "q5.gguf"
    original = tiny.write_gguf(path, Q5_0).state_dict()

    read = load(config_of(path)).model.state_dict()

    for name, values in original.items():
        # a 5-bit step of a block is 2 * max / 32, the 8-bit table is closer
        assert float((read[name] - values).abs().max()) <= float(values.abs().max()) / 16


@pytest.mark.forbids
def test_packed_without_a_gguf_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="packed with a GGUF file"):
        load(server_config(tmp_path / "model.safetensors", "safetensors", weights="packed"))


@pytest.mark.forbids
def test_a_length_beyond_the_models_positions_is_refused(gguf_file: Path) -> None:
    with pytest.raises(Refused, match="at most 512 tokens"):
        load(server_config(gguf_file, "gguf", max_length=513))


def test_the_file_that_was_read_is_named_by_its_hash(gguf_file: Path) -> None:
    facts = load(config_of(gguf_file)).facts

    assert facts["file_sha256"] == hashlib.sha256(gguf_file.read_bytes()).hexdigest()
    assert facts["layers"] == tiny.LAYERS
