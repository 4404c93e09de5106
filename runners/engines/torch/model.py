"""Load the pinned weights as a transformers model that attends over the paged cache.

``dequantized``: transformers unpacks every block to the compute dtype at load. ``packed``: the blocks stay as
they are in the file and are unpacked for every use, on the same model code.
"""

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM, GgufConfig
from transformers.modeling_gguf_pytorch_utils import TensorProcessor, get_gguf_hf_weights_map
from transformers.utils import logging as transformers_logging

from runners.artifacts import gguf_header
from runners.engines.torch import attention, attention_names, packed
from runners.engines.torch.settings import ServerConfig, refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A model ready to run and what was found while loading it."""

    model: Any  # transformers.PreTrainedModel: untyped there
    facts: dict[str, Any]


def load(config: ServerConfig) -> Loaded:
    """Raises Refused where the artifact cannot be served as declared."""
    attention.register()
    transformers_logging.disable_progress_bar()
    path = Path(config.weight_file)
    dtype = getattr(torch, config.settings.dtype)
    if config.settings.weights == "packed":
        model = _packed(path, dtype)
    elif config.weight_format == "gguf":
        model = AutoModelForCausalLM.from_pretrained(
            path.parent,
            gguf_file=path.name,
            quantization_config=GgufConfig(dequantize=True),
            dtype=dtype,
            attn_implementation=attention_names.IMPLEMENTATION,
        )
    else:
        model = AutoModelForCausalLM.from_pretrained(
            path.parent,
            dtype=dtype,
            attn_implementation=attention_names.IMPLEMENTATION,
            local_files_only=True,
        )
    model.eval().requires_grad_(False)
    _check_length(model.config, config)
    return Loaded(model=model, facts=_facts(model, path))


def _packed(path: Path, dtype: torch.dtype) -> Any:
    if path.suffix != ".gguf":
        raise refused(
            "engine.settings.weights", f"packed with {path.name}", "packed with a GGUF file"
        )
    header = gguf_header.read(path)
    config = AutoConfig.from_pretrained(path.parent, gguf_file=path.name)
    if config.model_type != "llama":
        raise refused("engine.settings.weights", f"packed {config.model_type}", "packed llama")
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(
            config, dtype=dtype, attn_implementation=attention_names.IMPLEMENTATION
        )
    model.model.rotary_emb = type(model.model.rotary_emb)(config=config)
    data = np.memmap(path, dtype=np.uint8, mode="r")
    names = get_gguf_hf_weights_map(model, TensorProcessor(), model_type="llama")
    for tensor in header.tensors:
        start = header.data_start + tensor.offset
        raw = np.asarray(data[start : start + tensor.bytes])
        _place(model, names[tensor.name], tensor, _unpermuted(raw, tensor, config), dtype)
    _finish(model, dtype)
    return model


def _unpermuted(raw: np.ndarray, tensor: gguf_header.Tensor, config: Any) -> np.ndarray:
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


def _place(
    model: Any, name: str, tensor: gguf_header.Tensor, rows: np.ndarray, dtype: torch.dtype
) -> None:
    module_name = name.removesuffix(".weight")
    module = model.get_submodule(module_name)
    if tensor.dtype in packed.SUPPORTED:
        weight = packed.PackedWeight(rows, kind=tensor.dtype, columns=tensor.shape[0])
        replacement: nn.Module = (
            packed.PackedEmbedding(weight, dtype)
            if isinstance(module, nn.Embedding)
            else packed.PackedLinear(weight)
        )
        model.set_submodule(module_name, replacement)
    elif tensor.dtype == "F32" and len(tensor.shape) == 1:
        values = torch.from_numpy(rows.reshape(-1).copy()).view(torch.float32)
        module.weight = nn.Parameter(values.to(dtype), requires_grad=False)
    else:
        allowed = ", ".join((*packed.SUPPORTED, "F32 vectors"))
        raise refused(
            f"weights of {tensor.name}", tensor.dtype, f"{allowed}, or weights: dequantized"
        )


def _finish(model: Any, dtype: torch.dtype) -> None:
    """Tie the output to the embedding where the file has no output of its own, and miss nothing."""
    embedding = model.model.embed_tokens
    if model.config.tie_word_embeddings and isinstance(embedding, packed.PackedEmbedding):
        model.lm_head = packed.PackedLinear(embedding.packed)
    left = [name for name, p in model.named_parameters() if p.device.type == "meta"]
    if left:
        raise refused("weight file", f"no tensor for {left[0]}", "a tensor for every parameter")


def _check_length(model_config: Any, config: ServerConfig) -> None:
    longest = int(model_config.max_position_embeddings)
    if config.settings.max_length > longest:
        raise refused(
            "engine.settings.max_length",
            str(config.settings.max_length),
            f"at most {longest} tokens",
        )


def _facts(model: Any, path: Path) -> dict[str, Any]:
    config = model.config
    tensors = [*model.named_parameters(), *model.named_buffers()]
    return {
        "class": type(model).__name__,
        "architecture": config.model_type,
        "layers": config.num_hidden_layers,
        "hidden": config.hidden_size,
        "heads": config.num_attention_heads,
        "h_kv": config.num_key_value_heads,
        "d_head": head_size(config),
        "vocabulary": config.vocab_size,
        "max_position_embeddings": config.max_position_embeddings,
        "attention": config._attn_implementation,
        "weight_tensors_by_dtype": dict(
            Counter(str(t.dtype).removeprefix("torch.") for _, t in tensors)
        ),
        "linear_class": dict(
            Counter(
                type(m).__name__
                for m in model.modules()
                if isinstance(m, nn.Linear | packed.PackedLinear)
            )
        ),
        "weight_bytes_in_memory": sum({t.data_ptr(): t.nbytes for _, t in tensors}.values()),
        "file": path.name,
        "file_bytes": path.stat().st_size,
        "file_sha256": _sha256(path),
    }


def head_size(config: Any) -> int:
    declared = getattr(config, "head_dim", None)
    return int(declared or config.hidden_size // config.num_attention_heads)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
