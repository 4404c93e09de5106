"""An artifact in Hugging Face form, in the hub's cache, is verified in the same way."""

import copy
import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from runners.artifacts import gguf_header, tokenizer
from runners.evidence.artifact import verify
from runners.evidence.safetensors_facts import tensor_table
from runners.protocol.errors import Refused
from runners.protocol.manifest import sha256_of
from tests.experiments.declarations import changed, example
from tests.runners.artifacts import tiny

COMMIT = "1" * 40
CONFIG = {
    "model_type": "llama",
    "num_hidden_layers": tiny.LAYERS,
    "hidden_size": tiny.D_MODEL,
    "num_attention_heads": tiny.HEADS,
    "num_key_value_heads": tiny.KV_HEADS,
    "intermediate_size": tiny.D_FF,
    "vocab_size": 331,
    "max_position_embeddings": tiny.CONTEXT,
    "rope_theta": 10000.0,
    "rms_norm_eps": 1e-5,
    "hidden_act": "silu",
    "tie_word_embeddings": True,
    "attention_bias": False,
}


@pytest.fixture
def snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    folder = tmp_path / "hub" / "models--org--tiny" / "snapshots" / COMMIT
    folder.mkdir(parents=True)
    tiny.write(tmp_path / tiny.FILE)
    tokenizer.from_gguf(gguf_header.read(tmp_path / tiny.FILE)).engine.save(
        str(folder / "tokenizer.json")
    )
    (folder / "config.json").write_text(json.dumps(CONFIG), "utf-8")
    options = {"chat_template": tiny.TEMPLATE, "eos_token": {"content": "<|end|>"}}
    (folder / "tokenizer_config.json").write_text(json.dumps(options), "utf-8")
    tensors: dict[str, np.ndarray[Any, np.dtype[Any]]] = {
        "model.embed_tokens.weight": np.zeros((331, tiny.D_MODEL), dtype=np.float16),
        "model.norm.weight": np.ones(tiny.D_MODEL, dtype=np.float32),
    }
    save_file(tensors, folder / "model.safetensors")
    return folder


def declared(snapshot: Path) -> dict[str, Any]:
    artifact: dict[str, Any] = copy.deepcopy(example()["artifact"])
    found = tokenizer.from_file(snapshot / "tokenizer.json")
    weights = snapshot / "model.safetensors"
    artifact["revision"] = COMMIT
    artifact["source"] |= {"kind": "hf", "repository": "org/tiny"}
    artifact["files"] = [
        {
            "path": weights.name,
            "sha256": sha256_of(weights),
            "bytes": weights.stat().st_size,
            "format": "safetensors",
        }
    ]
    artifact["config"] |= {
        "L": tiny.LAYERS,
        "d_model": tiny.D_MODEL,
        "h": tiny.HEADS,
        "h_kv": tiny.KV_HEADS,
        "d_head": tiny.D_HEAD,
        "d_ff": tiny.D_FF,
        "V": 331,
        "max_length": tiny.CONTEXT,
        "rope_theta": 10000.0,
        "quantization_fields": {},
    }
    artifact["precision"]["weights"] = {
        "dtype": "float16",
        "bits": 16,
        "granularity": "none",
        "scale": None,
        "excluded_layers": ["*norm.weight"],
        "excluded_dtypes": {"*norm.weight": "float32"},
    }
    artifact["tokenizer"] |= {
        "sha256": found.sha256,
        "vocabulary": found.vocabulary,
        "special_tokens": dict(found.special_tokens),
        "normalization": found.normalization,
        "pre_tokenization": found.pre_tokenization,
    }
    artifact["chat_template"]["sha256"] = example_template_sha256()
    return artifact


def example_template_sha256() -> str:
    return hashlib.sha256(tiny.TEMPLATE.encode()).hexdigest()


def test_a_snapshot_that_agrees_is_verified(snapshot: Path) -> None:
    verified = verify(declared(snapshot))

    assert verified.files == {"model.safetensors": snapshot / "model.safetensors"}
    rendered = verified.encoder.render([{"role": "user", "content": "apple"}])
    assert rendered == "<|user|>apple<|end|><|assistant|>"
    # a commit is the upstream: no gap about it; what config.json does not say is one
    gaps = " ".join(g["what"] for g in verified.identity["gaps"])
    assert "the commit of" not in gaps
    assert "gated_mlp" in gaps


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("path", "value", "found"),
    [
        ("config.h_kv", 4, "2, as found (config.json num_key_value_heads)"),
        ("config.activation", "gelu", "silu"),
        ("config.d_head", 32, "16"),
        ("precision.weights.dtype", "bfloat16", "F16"),
        ("tokenizer.sha256", "0" * 64, "as found (tokenizer)"),
        ("chat_template.sha256", "0" * 64, "as found (chat template)"),
    ],
)
def test_a_snapshot_that_disagrees_is_refused(
    snapshot: Path, path: str, value: Any, found: str
) -> None:
    with pytest.raises(Refused) as caught:
        verify(changed({"a": declared(snapshot)}, f"a.{path}", value)["a"])

    assert found in str(caught.value)


def test_a_template_of_its_own_file_wins(snapshot: Path) -> None:
    (snapshot / "chat_template.jinja").write_text("other", "utf-8")

    with pytest.raises(Refused, match=r"artifact\.chat_template\.sha256"):
        verify(declared(snapshot))


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json"])
def test_a_missing_or_broken_companion_is_refused(snapshot: Path, name: str) -> None:
    artifact = declared(snapshot)
    (snapshot / name).write_text("{", "utf-8")

    with pytest.raises(Refused, match=name.replace(".", r"\.")):
        verify(artifact)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        struct.pack("<Q", 2**60),
        struct.pack("<Q", 5) + b"nojsn",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 54) + b'{"a":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}}',
    ],
)
def test_a_broken_safetensors_header_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)

    with pytest.raises(Refused, match=r"model\.safetensors"):
        tensor_table(path)
