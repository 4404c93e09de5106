"""A tiny artifact with real bytes: a GGUF file written by the gguf package, and its declaration.

The vocabulary is byte-level with some whole words, so that prompts of exact length can be written; the
weights are zeros in the formats that the declaration names.
"""

import copy
import hashlib
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from runners.artifacts import gguf_header, tokenizer
from runners.protocol.manifest import sha256_of

FILE = "tiny.gguf"
WORDS = ("apple", "bread", "cloud", "dance", "earth", "flame", "grape", "house")
TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIAL = ("<|end|>", "<|user|>", "<|assistant|>")
LAYERS, D_MODEL, HEADS, KV_HEADS, D_HEAD, D_FF, CONTEXT = 2, 64, 4, 2, 16, 96, 512


def byte_characters() -> list[str]:
    """The 256 characters that byte-level vocabularies write bytes with (GPT-2's table)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    extra = iter(range(256, 512))
    return [chr(b) if b in printable else chr(next(extra)) for b in range(256)]


def vocabulary() -> tuple[list[str], list[str]]:
    """Tokens and merges: bytes, then each word built up letter by letter, then the same after a space."""
    tokens = [*SPECIAL, *byte_characters()]
    merges: list[str] = []
    for word in WORDS:
        pairs = [(word[: end - 1], word[end - 1]) for end in range(2, len(word) + 1)]
        for left, right in [*pairs, ("Ġ", word)]:
            if f"{left} {right}" not in merges:
                merges.append(f"{left} {right}")
                tokens.append(left + right)
    return tokens, merges


def write(path: Path, *, h_kv: int = KV_HEADS, merges: list[str] | None = None) -> None:
    """A whole GGUF file at ``path``."""
    tokens, own_merges = vocabulary()
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(LAYERS)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(D_MODEL)
    writer.add_feed_forward_length(D_FF)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(h_kv)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(D_HEAD)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_file_type(2)
    writer.add_quantization_version(2)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_merges(own_merges if merges is None else merges)
    writer.add_token_types([3] * len(SPECIAL) + [1] * (len(tokens) - len(SPECIAL)))
    writer.add_eos_token_id(0)
    writer.add_chat_template(TEMPLATE)
    zeros = np.zeros((D_MODEL, D_MODEL), dtype=np.float32)
    q4_0 = gguf.quants.quantize(zeros, gguf.GGMLQuantizationType.Q4_0)
    for layer in range(LAYERS):
        for name in ("attn_q", "attn_output", "ffn_gate"):
            writer.add_tensor(
                f"blk.{layer}.{name}.weight", q4_0, raw_dtype=gguf.GGMLQuantizationType.Q4_0
            )
        writer.add_tensor(f"blk.{layer}.attn_norm.weight", np.ones(D_MODEL, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def declare(example: dict[str, Any], path: Path) -> dict[str, Any]:
    """The declaration that agrees with the file at ``path``, on the frame of another artifact's."""
    artifact = copy.deepcopy(example)
    header = gguf_header.read(path)
    found = tokenizer.from_gguf(header)
    artifact["name"] = "tiny"
    artifact["files"] = [
        {
            "path": path.name,
            "sha256": sha256_of(path),
            "bytes": path.stat().st_size,
            "format": "gguf",
        }
    ]
    artifact["config"] |= {
        "L": LAYERS,
        "d_model": D_MODEL,
        "h": HEADS,
        "h_kv": KV_HEADS,
        "d_head": D_HEAD,
        "d_ff": D_FF,
        "V": found.vocabulary,
        "max_length": CONTEXT,
        "rope_theta": 10000.0,
        "quantization_fields": {"general.file_type": "2", "general.quantization_version": "2"},
    }
    artifact["precision"]["weights"] |= {
        "dtype": "Q4_0",
        "scale": {"block": 32, "dtype": "float16", "zero_point": False},
        "excluded_layers": ["*_norm.weight"],
        "excluded_dtypes": {"*_norm.weight": "F32"},
    }
    artifact["tokenizer"] |= {
        "sha256": found.sha256,
        "vocabulary": found.vocabulary,
        "special_tokens": {text: i for i, text in enumerate(SPECIAL)},
    }
    artifact["chat_template"]["sha256"] = hashlib.sha256(TEMPLATE.encode()).hexdigest()
    artifact["generation"]["eos_token_ids"] = [0]
    return artifact
