"""Facts of an artifact in Hugging Face form: config.json, safetensors headers, tokenizer, chat template."""

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runners.artifacts import tokenizer
from runners.artifacts.chat_template import ChatTemplate
from runners.artifacts.input_encoder import InputEncoder
from runners.artifacts.tokenizer import TokenizerProblem
from runners.evidence.artifact_facts import ArtifactFacts, Fact
from runners.protocol.errors import Finding, Refused

MAX_HEADER_BYTES = 100 * 10**6  # the format's own limit
DTYPES: Mapping[str, str] = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "I32": "int32",
    "I8": "int8",
    "U8": "uint8",
}
# config field -> keys of config.json, first one present wins
_DIRECT: Mapping[str, Sequence[str]] = {
    "architecture": ("model_type",),
    "L": ("num_hidden_layers", "n_layer"),
    "d_model": ("hidden_size", "n_embd"),
    "h": ("num_attention_heads", "n_head"),
    "h_kv": ("num_key_value_heads",),
    "d_head": ("head_dim",),
    "d_ff": ("intermediate_size", "n_inner"),
    "V": ("vocab_size",),
    "max_length": ("max_position_embeddings", "n_positions"),
    "rope_theta": ("rope_theta",),
    "activation": ("hidden_act", "activation_function"),
    "tie_word_embeddings": ("tie_word_embeddings",),
    "attention_bias": ("attention_bias",),
    "moe.experts": ("num_local_experts", "num_experts", "n_routed_experts"),
    "moe.experts_per_token": ("num_experts_per_tok",),
}


def read(base: Path, weight_files: Sequence[Path]) -> ArtifactFacts:
    """Facts of the folder ``base``. Raises Refused for a file that is missing or cannot be read."""
    config = _json(base / "config.json")
    dtypes: dict[str, str] = {}
    elements: dict[str, int] = {}
    for path in weight_files:
        for name, (dtype, size) in tensor_table(path).items():
            dtypes[name] = dtype
            elements[dtype] = elements.get(dtype, 0) + size
    stated = _config(config)
    if elements:
        main = max(elements, key=lambda dtype: elements[dtype])
        where = f"{elements[main]} of {sum(elements.values())} stored elements"
        stated["precision.weights.dtype"] = Fact(value=main, where=where)
    return ArtifactFacts(
        stated=stated,
        tensor_dtypes=dtypes,
        encoder=InputEncoder(tokenizer=_tokenizer(base), template=_template(base)),
        named_special_ids={},
    )


def tensor_table(path: Path) -> dict[str, tuple[str, int]]:
    """Tensor name -> dtype and number of elements, from a safetensors header.

    The file begins with the header's length (u64, little endian) and the header as JSON. Raises Refused if
    the header is not whole or names bytes beyond the end of the file.
    """
    size = path.stat().st_size
    with path.open("rb") as stream:
        prefix = stream.read(8)
        length = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else size
        if length > min(size - 8, MAX_HEADER_BYTES):
            raise _unreadable(path, "its header is longer than the file")
        try:
            header = json.loads(stream.read(length))
            table = {}
            for name, entry in header.items():
                if name == "__metadata__":
                    continue
                if 8 + length + entry["data_offsets"][1] > size:
                    raise _unreadable(path, f"it ends before tensor {name}")
                count = 1
                for dimension in entry["shape"]:
                    count *= dimension
                table[name] = (DTYPES.get(entry["dtype"], entry["dtype"]), count)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _unreadable(path, f"its header cannot be read ({error})") from error
    return table


def _config(config: Mapping[str, Any]) -> dict[str, Fact]:
    facts: dict[str, Fact] = {}
    for field, keys in _DIRECT.items():
        key = next((k for k in keys if config.get(k) is not None), None)
        if key is not None:
            facts[f"config.{field}"] = Fact(value=config[key], where=f"config.json {key}")
    if "config.d_head" not in facts and {"config.d_model", "config.h"} <= facts.keys():
        value = facts["config.d_model"].value // facts["config.h"].value
        facts["config.d_head"] = Fact(value=value, where="config.json hidden_size / heads")
    rope = config.get("rope_parameters")
    if isinstance(rope, Mapping) and "rope_theta" in rope:
        facts["config.rope_theta"] = Fact(
            value=rope["rope_theta"], where="config.json rope_parameters"
        )
    if "config.rope_theta" in facts:
        where = facts["config.rope_theta"].where
        facts["config.position_encoding"] = Fact(value="rope", where=where)
    if "rms_norm_eps" in config:
        facts["config.norm"] = Fact(value="rmsnorm", where="config.json rms_norm_eps")
    if "config.moe.experts" not in facts:
        facts["config.moe"] = Fact(value=None, where="config.json names no experts")
    quantization = config.get("quantization_config") or {}
    fields = {k: str(v) for k, v in quantization.items() if isinstance(v, str | int | float)}
    facts["config.quantization_fields"] = Fact(
        value=fields, where="config.json quantization_config"
    )
    return facts


def _tokenizer(base: Path) -> tokenizer.ArtifactTokenizer:
    try:
        return tokenizer.from_file(base / "tokenizer.json")
    except TokenizerProblem as error:
        raise _unreadable(base / "tokenizer.json", str(error)) from error


def _template(base: Path) -> ChatTemplate:
    path, options = base / "chat_template.jinja", {}
    if (base / "tokenizer_config.json").is_file():
        options = _json(base / "tokenizer_config.json")
    text = path.read_text(encoding="utf-8") if path.is_file() else options.get("chat_template")
    if not isinstance(text, str):
        raise _unreadable(path, "the artifact holds no chat template")
    special = {}
    for name in ("bos_token", "eos_token", "unk_token", "pad_token"):
        token = options.get(name)
        value = token.get("content") if isinstance(token, Mapping) else token
        if isinstance(value, str):
            special[name] = value
    return ChatTemplate(text=text, special_tokens=special)


def _json(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise _unreadable(path, str(error)) from error
    if not isinstance(document, dict):
        raise _unreadable(path, "it holds no object")
    return document


def _unreadable(path: Path, reason: str) -> Refused:
    return Refused(
        Finding(
            field="artifact.files",
            seen=f"{path.name}: {reason}",
            allowed="a whole artifact in Hugging Face form",
            remedy="Restore the file.",
        )
    )
