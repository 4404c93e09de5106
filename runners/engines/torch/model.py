"""Load the pinned weights as a transformers model that attends over the paged cache.

``dequantized``: every block is unpacked to the compute dtype at load. ``packed``: the blocks stay as they are
in the file and are unpacked for every use, on the same model code.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoModelForCausalLM, GgufConfig
from transformers.utils import logging as transformers_logging

from runners.artifacts import gguf_header
from runners.engines.torch import attention, attention_names, gguf_model, packed
from runners.engines.torch.settings import ServerConfig, refused
from runners.protocol.manifest import sha256_of


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
    if config.weight_format == "gguf":
        model, loader = _from_gguf(path, dtype, config)
    else:
        if config.settings.weights == "packed":
            seen = f"packed with {path.name}"
            raise refused("engine.settings.weights", seen, "packed with a GGUF file")
        model = AutoModelForCausalLM.from_pretrained(
            path.parent,
            dtype=dtype,
            attn_implementation=attention_names.IMPLEMENTATION,
            local_files_only=True,
        )
        loader = "transformers.from_pretrained"
    model.eval().requires_grad_(False)
    _check_length(model.config, config)
    return Loaded(model=model, facts=_facts(model, path) | {"loader": loader})


def _from_gguf(path: Path, dtype: torch.dtype, config: ServerConfig) -> tuple[Any, str]:
    header = gguf_header.read(path)
    if gguf_model.is_plain_llama(header):
        if config.settings.weights == "packed":
            return gguf_model.still_packed(path, dtype), "gguf_model.still_packed"
        return gguf_model.dequantized(path, dtype), "gguf_model.dequantized"
    if config.settings.weights == "packed":
        architecture = header.metadata.get("general.architecture")
        seen = f"packed {architecture} in {path.name}"
        raise refused("engine.settings.weights", seen, "packed with a plain llama, or dequantized")
    model = AutoModelForCausalLM.from_pretrained(
        path.parent,
        gguf_file=path.name,
        quantization_config=GgufConfig(dequantize=True),
        dtype=dtype,
        attn_implementation=attention_names.IMPLEMENTATION,
    )
    return model, "transformers.from_pretrained"


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
        "file_sha256": sha256_of(path),
    }


def head_size(config: Any) -> int:
    declared = getattr(config, "head_dim", None)
    return int(declared or config.hidden_size // config.num_attention_heads)
