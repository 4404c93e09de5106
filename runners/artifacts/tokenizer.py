"""The tokenizer of an artifact, built from the pinned file, and the document that identifies it.

Two forms are read: the vocabulary inside a GGUF file (byte-level BPE), and a Hugging Face ``tokenizer.json``.
The identity is the sha256 of the canonical JSON of vocabulary, merges, token types, special ids and the rules
that split text, so that a moved merge or an altered splitting rule is another tokenizer.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from runners.artifacts.gguf_header import GgufHeader
from runners.protocol.manifest import canonical

CONTROL_TOKEN, USER_TOKEN = 3, 4  # values of tokenizer.ggml.token_type

# tokenizer.ggml.pre -> a description of its splitting rules, in the order applied
PRE_TOKENIZERS: Mapping[str, str] = {
    "smollm": "each digit alone, then the GPT-2 byte-level pattern, no prefix space",
    "gpt-2": "the GPT-2 byte-level pattern, no prefix space",
}


class TokenizerProblem(Exception):
    """The file holds no tokenizer that can be rebuilt exactly; the message says what is in the way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactTokenizer:
    """``special_tokens`` are the control tokens by text; ``named_ids`` are bos, eos, unknown and padding."""

    sha256: str
    vocabulary: int
    special_tokens: Mapping[str, int]
    named_ids: Mapping[str, int]
    normalization: str
    pre_tokenization: str
    engine: Tokenizer

    def encode(self, text: str) -> list[int]:
        """Token ids of ``text`` exactly as written: special tokens are recognised, none is added."""
        return list(self.engine.encode(text, add_special_tokens=False).ids)

    def token_text(self, token_id: int) -> str | None:
        found: str | None = self.engine.id_to_token(token_id)
        return found


def from_gguf(header: GgufHeader) -> ArtifactTokenizer:
    """The byte-level BPE tokenizer inside a GGUF file. Raises TokenizerProblem for any other kind."""
    meta = {
        key.removeprefix("tokenizer.ggml."): value
        for key, value in header.metadata.items()
        if key.startswith("tokenizer.ggml.")
    }
    model, pre = meta.get("model"), str(meta.get("pre"))
    if model != "gpt2":
        raise TokenizerProblem(f"tokenizer.ggml.model is {model}; gpt2 (byte-level BPE) is read")
    if pre not in PRE_TOKENIZERS:
        known = ", ".join(PRE_TOKENIZERS)
        raise TokenizerProblem(f"tokenizer.ggml.pre is {pre}; known are {known}")
    tokens, types = meta["tokens"], meta.get("token_type") or []
    named = {
        key.removesuffix("_token_id"): int(value)
        for key, value in meta.items()
        if key.endswith("_token_id")
    }
    special = {tokens[i]: i for i, kind in enumerate(types) if kind in (CONTROL_TOKEN, USER_TOKEN)}
    identity = {
        "model": "bpe",
        "vocabulary": tokens,
        "merges": meta["merges"],
        "token_types": types,
        "special_ids": named,
        "pre_tokenizer": pre,
        "normalizer": None,
        "add_bos": bool(meta.get("add_bos_token", False)),
        "add_eos": bool(meta.get("add_eos_token", False)),
        "add_space_prefix": bool(meta.get("add_space_prefix", False)),
    }
    return ArtifactTokenizer(
        sha256=_sha256(identity),
        vocabulary=len(tokens),
        special_tokens=special,
        named_ids=named,
        normalization="none",
        pre_tokenization=PRE_TOKENIZERS[pre],
        engine=_byte_level_bpe(tokens, meta["merges"], special, digits=pre == "smollm"),
    )


def _byte_level_bpe(
    tokens: Sequence[str], merges: Sequence[str], special: Mapping[str, int], *, digits: bool
) -> Tokenizer:
    pairs = [(left, right) for left, _, right in (m.partition(" ") for m in merges)]
    engine = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=pairs))
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    engine.pre_tokenizer = (
        pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level])
        if digits
        else byte_level
    )
    engine.decoder = decoders.ByteLevel()
    engine.add_special_tokens(
        [AddedToken(text, special=True, normalized=False) for text in special]
    )
    return engine


def from_file(path: Path) -> ArtifactTokenizer:
    """The tokenizer of a Hugging Face ``tokenizer.json``. Raises TokenizerProblem if it cannot be read."""
    try:
        raw = json.loads(path.read_bytes())
        engine = Tokenizer.from_file(str(path))
        model = raw["model"]
        added = raw.get("added_tokens", [])
    except Exception as error:  # the library raises bare Exception for a bad file
        raise TokenizerProblem(f"{path.name} is no tokenizer.json ({error})") from error
    special = {str(t["content"]): int(t["id"]) for t in added if t.get("special")}
    identity = {
        "model": model.get("type"),
        "vocabulary": model.get("vocab"),
        "merges": model.get("merges"),
        "token_types": added,
        "special_ids": {"unknown": model.get("unk_token")},
        "pre_tokenizer": raw.get("pre_tokenizer"),
        "normalizer": raw.get("normalizer"),
    }
    return ArtifactTokenizer(
        sha256=_sha256(identity),
        vocabulary=engine.get_vocab_size(with_added_tokens=True),
        special_tokens=special,
        named_ids={},
        normalization=_kinds(raw.get("normalizer")),
        pre_tokenization=_kinds(raw.get("pre_tokenizer")),
        engine=engine,
    )


def _kinds(rule: Mapping[str, Any] | None) -> str:
    """A rule of tokenizer.json by its kinds, in the order applied: ``Digits, ByteLevel``."""
    if rule is None:
        return "none"
    parts = rule.get("pretokenizers") or rule.get("normalizers")
    return ", ".join(str(p["type"]) for p in parts) if parts else str(rule["type"])


def _sha256(identity: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(dict(identity))).hexdigest()
