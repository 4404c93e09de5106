"""Facts of a GGUF artifact: configuration, stored precision, tokenizer and chat template, from its header."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runners.artifacts import gguf_header, tokenizer
from runners.artifacts.chat_template import ChatTemplate
from runners.artifacts.gguf_header import GgufError, GgufHeader
from runners.artifacts.input_encoder import InputEncoder
from runners.artifacts.tokenizer import TokenizerProblem
from runners.evidence.artifact_facts import ArtifactFacts, Fact
from runners.protocol.errors import Finding, Refused

# stored type -> elements per scale, dtype of the scale, zero point (the block's minimum) stored too
SCALES: Mapping[str, tuple[int, str, bool]] = {
    "Q4_0": (32, "float16", False),
    "Q4_1": (32, "float16", True),
    "Q5_0": (32, "float16", False),
    "Q5_1": (32, "float16", True),
    "Q8_0": (32, "float16", False),
}
# config field -> metadata key without the architecture's prefix
_DIRECT = {
    "L": "block_count",
    "d_model": "embedding_length",
    "h": "attention.head_count",
    "h_kv": "attention.head_count_kv",
    "d_ff": "feed_forward_length",
    "max_length": "context_length",
    "rope_theta": "rope.freq_base",
}


def read(path: Path, *, declared_dtype: str) -> ArtifactFacts:
    """Facts of the file at ``path``. Raises Refused if it is no GGUF file whose tokenizer can be rebuilt."""
    try:
        header = gguf_header.read(path)
        found = tokenizer.from_gguf(header)
    except (GgufError, TokenizerProblem, KeyError) as error:
        raise _unreadable(path, str(error)) from error
    template = header.metadata.get("tokenizer.chat_template")
    if not isinstance(template, str):
        raise _unreadable(path, "it holds no tokenizer.chat_template")
    tokens = header.metadata["tokenizer.ggml.tokens"]
    special = {
        f"{'unk' if name == 'unknown' else 'pad' if name == 'padding' else name}_token": tokens[i]
        for name, i in found.named_ids.items()
        if 0 <= i < len(tokens)
    }
    stated = {
        **_config(header),
        **_quantization(header),
        **_precision(header, declared_dtype),
    }
    return ArtifactFacts(
        stated=stated,
        tensor_dtypes={t.name: t.dtype for t in header.tensors},
        encoder=InputEncoder(
            tokenizer=found, template=ChatTemplate(text=template, special_tokens=special)
        ),
        named_special_ids=found.named_ids,
    )


def _config(header: GgufHeader) -> dict[str, Fact]:
    meta = header.metadata
    architecture = str(meta.get("general.architecture"))
    facts = {"config.architecture": Fact(value=architecture, where="general.architecture")}

    def state(field: str, key: str, value: Any) -> None:
        facts[f"config.{field}"] = Fact(value=value, where=key)

    for field, suffix in _DIRECT.items():
        key = f"{architecture}.{suffix}"
        if key in meta:
            state(field, key, meta[key])
    for suffix in ("attention.key_length", "rope.dimension_count"):
        key = f"{architecture}.{suffix}"
        if key in meta:
            state("d_head", key, meta[key])
            break
    if "tokenizer.ggml.tokens" in meta:
        state("V", "tokenizer.ggml.tokens", len(meta["tokenizer.ggml.tokens"]))
    if f"{architecture}.rope.freq_base" in meta:
        state("position_encoding", f"{architecture}.rope.freq_base", "rope")
    if f"{architecture}.attention.layer_norm_rms_epsilon" in meta:
        state("norm", f"{architecture}.attention.layer_norm_rms_epsilon", "rmsnorm")
    elif f"{architecture}.attention.layer_norm_epsilon" in meta:
        state("norm", f"{architecture}.attention.layer_norm_epsilon", "layernorm")
    names = {t.name for t in header.tensors}
    state("tie_word_embeddings", "tensor output.weight", "output.weight" not in names)
    state("attention_bias", "tensor blk.0.attn_q.bias", "blk.0.attn_q.bias" in names)
    state("gated_mlp", "tensor blk.0.ffn_gate.weight", "blk.0.ffn_gate.weight" in names)
    experts = meta.get(f"{architecture}.expert_count")
    if not experts:
        state("moe", f"{architecture}.expert_count", None)
    else:
        state("moe.experts", f"{architecture}.expert_count", experts)
        used = f"{architecture}.expert_used_count"
        state("moe.experts_per_token", used, meta.get(used))
    return facts


def _quantization(header: GgufHeader) -> dict[str, Fact]:
    keys = ("general.file_type", "general.quantization_version")
    fields = {k: str(header.metadata[k]) for k in keys if k in header.metadata}
    return {"config.quantization_fields": Fact(value=fields, where=", ".join(keys))}


def _precision(header: GgufHeader, declared_dtype: str) -> dict[str, Fact]:
    """The format that most weight bytes are stored in, and its scale layout."""
    stored: dict[str, int] = {}
    for tensor in header.tensors:
        elements = 1
        for size in tensor.shape:
            elements *= size
        stored[tensor.dtype] = stored.get(tensor.dtype, 0) + elements
    main = max(stored, key=lambda dtype: stored[dtype])
    where = f"{stored[main]} of {sum(stored.values())} stored elements"
    facts = {"precision.weights.dtype": Fact(value=main, where=where)}
    if main in SCALES and main == declared_dtype:
        block, dtype, zero_point = SCALES[main]
        layout = {"block": block, "dtype": dtype, "zero_point": zero_point}
        facts["precision.weights.scale"] = Fact(value=layout, where=f"the layout of {main}")
        facts["precision.weights.granularity"] = Fact(value="block", where=f"the layout of {main}")
    return facts


def _unreadable(path: Path, reason: str) -> Refused:
    return Refused(
        Finding(
            field="artifact.files",
            seen=f"{path.name}: {reason}",
            allowed="a whole GGUF file with tokenizer and chat template",
            remedy="Restore the file, or declare an artifact of another format.",
        )
    )
