"""Structures that several tests reason about, and the real configurations on disk."""

import json
from pathlib import Path
from typing import Any

import yaml

from assay.analysis.perfmodel.dense_decoder import dense_decoder, plain_attention
from assay.analysis.perfmodel.feed_forward.feed_forward import DenseFeedForward
from assay.analysis.perfmodel.structure import Structure
from assay.archive.model_configs import SHIPPED

CONFIGS = SHIPPED
EXPECTED = Path(__file__).parents[3] / "data" / "model_configs" / "EXPECTED.yaml"


def dense(
    *, family: str = "llama", layers: int, d_model: int, h: int, h_kv: int, d_head: int, d_ff: int,
    vocabulary: int, tied: bool = False, declared_dtype: str | None = "bfloat16",
    qkv_bias: bool = False, output_bias: bool = False, qk_norm: bool = False,
) -> Structure:  # fmt: skip
    """A llama-like decoder with equal layers."""
    return dense_decoder(
        family=family,
        layers=layers,
        d_model=d_model,
        vocabulary=vocabulary,
        attention=plain_attention(
            h=h,
            h_kv=h_kv,
            d_head=d_head,
            qkv_bias=qkv_bias,
            output_bias=output_bias,
            qk_norm=qk_norm,
        ),
        feed_forward=DenseFeedForward(width=d_ff),
        tied=tied,
        max_length=8192,
        declared_dtype=declared_dtype,
    )


def reference_7b(*, h_kv: int = 8) -> Structure:
    """The reference model of the text's chapter 2: 32 layers, 8 KV heads of 128."""
    return dense(layers=32, d_model=4096, h=32, h_kv=h_kv, d_head=128, d_ff=14336, vocabulary=32000)


def tiny(*, tied: bool = False, biases: bool = False, qk_norm: bool = False) -> Structure:
    """To count on paper: 2 layers, width 8, 2 heads on 1 KV head of 4, feed-forward 16, 10 words."""
    return dense(
        layers=2, d_model=8, h=2, h_kv=1, d_head=4, d_ff=16, vocabulary=10, tied=tied,
        qkv_bias=biases, output_bias=biases, qk_norm=qk_norm,
    )  # fmt: skip


REFERENCE_7B = reference_7b()
QWEN_7B = dense(
    family="qwen2", layers=28, d_model=3584, h=28, h_kv=4, d_head=128, d_ff=18944,
    vocabulary=152064, qkv_bias=True,
)  # fmt: skip
SMOLLM2 = dense(
    layers=30, d_model=576, h=9, h_kv=3, d_head=64, d_ff=1536, vocabulary=49152, tied=True,
    declared_dtype=None,
)  # fmt: skip
TINY = tiny()


def config(name: str) -> dict[str, Any]:
    return dict(json.loads((CONFIGS / f"{name}.json").read_text(encoding="utf-8")))


def companion(name: str) -> dict[str, Any] | None:
    path = CONFIGS / f"{name}.hf_quant_config.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def expected() -> dict[str, dict[str, Any]]:
    text = EXPECTED.read_text(encoding="utf-8")
    return dict(yaml.load(text, Loader=yaml.CSafeLoader))
