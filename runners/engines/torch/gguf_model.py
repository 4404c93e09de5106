"""A llama model of transformers filled straight from a GGUF file, packed or dequantized.

transformers reads the same file in ten seconds and more, most of it spent on the vocabulary, which the model
does not need; and it cannot leave this architecture packed on a CPU. The result is the same: a test compares
every weight with transformers' own load, bit for bit.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.integrations.gguf.dequant import GGML_NAME, dequantize

from runners.artifacts import gguf_header
from runners.engines.torch import attention_names, packed
from runners.engines.torch.settings import refused

_PLAIN = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
_TYPE_OF = {name: number for number, name in GGML_NAME.items()}
_WHOLE = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_OF_LAYER = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}


def is_plain_llama(header: gguf_header.GgufHeader) -> bool:
    """Whether this module reads the file: a llama with unscaled rotary positions and known tensors."""
    metadata = header.metadata
    scaled = any(key.startswith("llama.rope.scaling") for key in metadata)
    known = all(_target(tensor.name) is not None for tensor in header.tensors)
    return metadata.get("general.architecture") == "llama" and known and not scaled


def dequantized(path: Path, dtype: torch.dtype) -> Any:
    """Every tensor unpacked to ``dtype``."""
    return _filled(path, dtype, keep_packed=False)


def still_packed(path: Path, dtype: torch.dtype) -> Any:
    """Quantized tensors as blocks, vectors in ``dtype``. Raises Refused where a type cannot stay packed."""
    return _filled(path, dtype, keep_packed=True)


def _filled(path: Path, dtype: torch.dtype, *, keep_packed: bool) -> Any:
    header = gguf_header.read(path)
    config = llama_config(header)
    with torch.device("meta"):
        model: Any = LlamaForCausalLM(config)
        model.to(dtype)
    model.set_attn_implementation(attention_names.IMPLEMENTATION)
    model.model.rotary_emb = type(model.model.rotary_emb)(config=config)
    data = np.memmap(path, dtype=np.uint8, mode="r")
    for tensor in header.tensors:
        start = header.data_start + tensor.offset
        rows = _unpermuted(np.asarray(data[start : start + tensor.bytes]), tensor, config)
        target = _target(tensor.name)
        assert target is not None
        place = _place_packed if keep_packed else _place_dense
        place(model, target, tensor, rows, dtype)
    if config.tie_word_embeddings:
        _tie(model)
    left = [name for name, p in model.named_parameters() if p.device.type == "meta"]
    if left:
        raise refused("weight file", f"no tensor for {left[0]}", "a tensor for every parameter")
    return model


def llama_config(header: gguf_header.GgufHeader) -> LlamaConfig:
    """The model's shape from the file's own keys."""
    meta: Mapping[str, Any] = header.metadata
    heads = int(meta["llama.attention.head_count"])
    hidden = int(meta["llama.embedding_length"])
    shapes = {tensor.name: tensor.shape for tensor in header.tensors}
    return LlamaConfig(
        vocab_size=shapes["token_embd.weight"][-1],
        hidden_size=hidden,
        intermediate_size=int(meta["llama.feed_forward_length"]),
        num_hidden_layers=int(meta["llama.block_count"]),
        num_attention_heads=heads,
        num_key_value_heads=int(meta.get("llama.attention.head_count_kv", heads)),
        head_dim=int(meta.get("llama.attention.key_length", hidden // heads)),
        max_position_embeddings=int(meta["llama.context_length"]),
        rms_norm_eps=float(meta["llama.attention.layer_norm_rms_epsilon"]),
        rope_parameters={
            "rope_theta": float(meta.get("llama.rope.freq_base", 10000.0)),
            "rope_type": "default",
        },
        tie_word_embeddings="output.weight" not in shapes,
    )


def _target(name: str) -> str | None:
    """The parameter of transformers' llama that a GGUF tensor fills."""
    if name in _WHOLE:
        return _WHOLE[name]
    parts = name.split(".")
    if len(parts) != 4 or parts[0] != "blk" or parts[3] != "weight" or parts[2] not in _OF_LAYER:
        return None
    return f"model.layers.{parts[1]}.{_OF_LAYER[parts[2]]}.weight"


def _unpermuted(raw: np.ndarray, tensor: gguf_header.Tensor, config: LlamaConfig) -> np.ndarray:
    """Bytes by row, llama.cpp's order of rotary rows in q and k undone. Whole rows move, no block is cut."""
    rows = raw.reshape(tensor.shape[-1] if len(tensor.shape) > 1 else 1, -1)
    heads = {
        "attn_q": config.num_attention_heads,
        "attn_k": config.num_key_value_heads,
    }.get(tensor.name.split(".")[-2])
    if heads is None:
        return rows
    half = rows.shape[0] // heads // 2
    return rows.reshape(heads, half, 2, -1).swapaxes(1, 2).reshape(rows.shape)


def _place_dense(
    model: Any, target: str, tensor: gguf_header.Tensor, rows: np.ndarray, dtype: torch.dtype
) -> None:
    data = torch.from_numpy(np.ascontiguousarray(rows).copy())
    if tensor.dtype in _PLAIN:
        values = data.view(_PLAIN[tensor.dtype])
    elif tensor.dtype in _TYPE_OF:
        values = dequantize(data, _TYPE_OF[tensor.dtype])
    else:  # types that only gguf's slower reader knows
        kind = gguf.GGMLQuantizationType[tensor.dtype]
        values = torch.from_numpy(gguf.quants.dequantize(rows, kind))
    shape = tuple(reversed(tensor.shape))
    module = model.get_submodule(target.removesuffix(".weight"))
    module.weight = nn.Parameter(values.reshape(shape).to(dtype), requires_grad=False)


def _place_packed(
    model: Any, target: str, tensor: gguf_header.Tensor, rows: np.ndarray, dtype: torch.dtype
) -> None:
    if len(tensor.shape) == 1:
        _place_dense(model, target, tensor, rows, dtype)
        return
    if tensor.dtype not in packed.SUPPORTED:
        allowed = f"{', '.join(packed.SUPPORTED)}, or engine.settings.weights=dequantized"
        raise refused(f"weights of {tensor.name}", tensor.dtype, allowed)
    weight = packed.PackedWeight(rows, kind=tensor.dtype, columns=tensor.shape[0])
    is_table = target == _WHOLE["token_embd.weight"]
    replacement: nn.Module = (
        packed.PackedEmbedding(weight, dtype) if is_table else packed.PackedLinear(weight)
    )
    model.set_submodule(target.removesuffix(".weight"), replacement)


def _tie(model: Any) -> None:
    table = model.model.embed_tokens
    if isinstance(table, packed.PackedEmbedding):
        model.lm_head = packed.PackedLinear(table.packed)
    else:
        model.lm_head.weight = table.weight
