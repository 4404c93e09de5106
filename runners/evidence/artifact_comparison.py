"""Compare what an artifact declares with what its files state; every finding names both values."""

import fnmatch
from collections.abc import Iterator, Mapping
from typing import Any

from runners.evidence.artifact_facts import ArtifactFacts, Fact
from runners.protocol.errors import Finding

# dtype names of weights as a declaration writes them -> as a GGUF file stores them
_STORED_AS = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}


def disagreements(artifact: Mapping[str, Any], stated: Mapping[str, Fact]) -> Iterator[Finding]:
    """Each declared field that the files state otherwise."""
    for path, fact in stated.items():
        declared = _at(artifact, path)
        if path == "precision.weights.dtype":
            declared = _STORED_AS.get(str(declared), declared)
            fact = Fact(value=_STORED_AS.get(str(fact.value), fact.value), where=fact.where)
        if not _equal(declared, fact.value):
            yield unlike(f"artifact.{path}", declared, fact.value, fact.where)


def _at(tree: Any, path: str) -> Any:
    for part in path.split("."):
        tree = tree.get(part) if isinstance(tree, Mapping) else None
    return tree


def _equal(declared: Any, found: Any) -> bool:
    if isinstance(declared, float) or isinstance(found, float):
        numbers = isinstance(declared, int | float) and isinstance(found, int | float)
        return numbers and abs(declared - found) <= 1e-6 * max(abs(declared), abs(found))
    return bool(declared == found)


def excluded_layers(weights: Mapping[str, Any], tensors: Mapping[str, str]) -> Iterator[Finding]:
    """Every tensor is stored in the declared dtype or falls under a declared exclusion, and each is used."""
    main = _STORED_AS.get(str(weights["dtype"]), str(weights["dtype"]))
    excluded = {p: _STORED_AS.get(str(d), str(d)) for p, d in weights["excluded_dtypes"].items()}
    unused = set(excluded)
    for name, raw in tensors.items():
        dtype = _STORED_AS.get(raw, raw)
        pattern = next((p for p in excluded if fnmatch.fnmatchcase(name, p)), None)
        unused.discard(str(pattern))
        expected = excluded[pattern] if pattern is not None else main
        if dtype != expected:
            field = f"artifact.precision.weights.excluded_dtypes.{pattern or name}"
            yield unlike(field, expected, dtype, f"tensor {name}")
            return
    for pattern in sorted(unused):
        field = "artifact.precision.weights.excluded_layers"
        yield unlike(field, pattern, "no tensor of that name", "the tensor table")


def text_identity(artifact: Mapping[str, Any], facts: ArtifactFacts) -> Iterator[Finding]:
    """Tokenizer, chat template and end-of-text ids: what turns messages into token ids, and ends them."""
    found, declared = facts.encoder.tokenizer, artifact["tokenizer"]
    template = facts.encoder.template.sha256
    if declared["sha256"] != found.sha256:
        yield unlike("artifact.tokenizer.sha256", declared["sha256"], found.sha256, "tokenizer")
    pairs: tuple[tuple[str, Any], ...] = (
        ("vocabulary", found.vocabulary),
        ("special_tokens", dict(found.special_tokens)),
        ("normalization", found.normalization),
        ("pre_tokenization", found.pre_tokenization),
    )
    for key, value in pairs:
        if declared[key] != value:
            yield unlike(f"artifact.tokenizer.{key}", declared[key], value, "tokenizer")
    if artifact["chat_template"]["sha256"] != template:
        seen = artifact["chat_template"]["sha256"]
        yield unlike("artifact.chat_template.sha256", seen, template, "chat template")
    eos = facts.named_special_ids.get("eos")
    if eos is not None and eos not in artifact["generation"]["eos_token_ids"]:
        seen = artifact["generation"]["eos_token_ids"]
        yield unlike("artifact.generation.eos_token_ids", seen, f"a list with {eos}", "tokenizer")


def unlike(field: str, declared: Any, found: Any, where: str) -> Finding:
    return Finding(
        field=field,
        seen=f"{declared} is declared",
        allowed=f"{found}, as found ({where})",
        remedy="The declaration and the bytes differ: correct the one that is wrong.",
    )
