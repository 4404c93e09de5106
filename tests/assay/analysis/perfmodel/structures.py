"""Structures that several tests reason about, and the real configurations on disk."""

import json
from pathlib import Path
from typing import Any

import yaml

from assay.analysis.perfmodel.structure import Structure

CONFIGS = Path(__file__).parents[3] / "data" / "model_configs"


def _dense(**fields: Any) -> Structure:
    common: dict[str, Any] = {
        "family": "llama", "tied": False, "gated": True, "qkv_bias": False, "output_bias": False,
        "mlp_bias": False, "qk_norm": False, "declared_dtype": "bfloat16", "max_length": 8192,
    }  # fmt: skip
    return Structure(**(common | fields))


# The reference model of the text's chapter 2: 32 layers, 8 KV heads of 128.
REFERENCE_7B = _dense(
    layers=32, d_model=4096, h=32, h_kv=8, d_head=128, d_ff=14336, vocabulary=32000
)
QWEN_7B = _dense(
    family="qwen2", layers=28, d_model=3584, h=28, h_kv=4, d_head=128, d_ff=18944,
    vocabulary=152064, qkv_bias=True,
)  # fmt: skip
SMOLLM2 = _dense(
    layers=30, d_model=576, h=9, h_kv=3, d_head=64, d_ff=1536, vocabulary=49152, tied=True,
    declared_dtype=None,
)  # fmt: skip
# Small enough to count on paper: 2 layers, width 8, 2 heads on 1 KV head of 4, feed-forward 16, 10 words.
TINY = _dense(layers=2, d_model=8, h=2, h_kv=1, d_head=4, d_ff=16, vocabulary=10)


def config(name: str) -> dict[str, Any]:
    return dict(json.loads((CONFIGS / f"{name}.json").read_text(encoding="utf-8")))


def companion(name: str) -> dict[str, Any] | None:
    path = CONFIGS / f"{name}.hf_quant_config.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def expected() -> dict[str, dict[str, Any]]:
    text = (CONFIGS / "EXPECTED.yaml").read_text(encoding="utf-8")
    return dict(yaml.load(text, Loader=yaml.CSafeLoader))
