"""``python -m runners convert NAME``: make an artifact that its declaration derives from another one.

The declaration pins both ends: the parent by its digest, the result by the hash of its whole folder. What
comes out is compared with the pin before it appears under its name, so that other library versions, or
another processor, cannot pass off different bytes.
"""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from experiments.compose import choices, compose
from experiments.identity import artifact_digest
from runners.artifacts import gguf_header
from runners.artifacts.tokenizer import from_gguf
from runners.environments.pins import artifacts_folder, refused
from runners.evidence.artifact import verify
from runners.evidence.artifact_sources import folder_revision

Recipe = Callable[[Path, Path], None]  # the parent's weight file, the folder to fill
GGUF_TO_BF16 = "GGUF weights dequantized and rounded to bfloat16, saved as safetensors"


def main(name: str) -> int:
    print(convert(name))  # noqa: T201 - the folder, for whoever called
    return 0


def convert(name: str) -> Path:
    """The folder of the declared artifact ``name``; made unless it is there. Raises Refused."""
    declared = _declared(name)
    target = artifacts_folder() / str(declared["source"]["path"])
    if target.is_dir():
        _check(declared, target, target)
        return target
    parent = _parent(declared)
    recipe = _RECIPES.get(str(declared["parent"]["recipe"]))
    if recipe is None:
        seen = str(declared["parent"]["recipe"])
        raise refused("artifact.parent.recipe", seen, "; ".join(_RECIPES), "Name one of them.")
    source = next(iter(verify(parent).files.values()))
    target.parent.mkdir(parents=True, exist_ok=True)
    making = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        recipe(source, making)
        _check(declared, making, target)
        making.rename(target)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return target


def _check(declared: Mapping[str, Any], folder: Path, target: Path) -> None:
    seen = folder_revision(folder)
    if seen != declared["revision"]:
        raise refused(
            "artifact.revision",
            f"{seen} is what this machine makes of {target.name}",
            str(declared["revision"]),
            f"Use the tools that artifact.parent.tools names ({declared['parent']['tools']}), "
            "or remove a folder that was changed.",
        )


def _declared(name: str) -> Mapping[str, Any]:
    """The artifact of the config group, with a parent and a folder to lie in. Raises Refused."""
    made = [n for n in choices()["artifact"] if _of_group(n)["parent"] is not None]
    if name not in made:
        allowed = ", ".join(made) or "none"
        raise refused("artifact", name, allowed, "Only artifacts with a declared parent are made.")
    return _of_group(name)


def _of_group(name: str) -> Mapping[str, Any]:
    artifact: Mapping[str, Any] = compose(["study=smollm2_smoke", f"artifact={name}"]).document[
        "artifact"
    ]
    return artifact


def _parent(declared: Mapping[str, Any]) -> Mapping[str, Any]:
    digest = declared["parent"]["digest"]
    for name in choices()["artifact"]:
        artifact = _of_group(name)
        if artifact["revision"] is not None and artifact_digest(artifact) == digest:
            return artifact
    raise refused(
        "artifact.parent.digest",
        str(digest),
        "the digest of an artifact of the config group",
        "Declare the parent too.",
    )


def _gguf_to_bf16(source: Path, folder: Path) -> None:
    """As the engines of the safetensors world read it: weights, configuration, tokenizer and template.

    The tokenizer is the one that counts the plan's tokens, so that both sides see the same ids.
    """
    import torch

    from runners.engines.torch import attention
    from runners.engines.torch.gguf_model import dequantized

    header = gguf_header.read(source)
    tokenizer = from_gguf(header)
    attention.register()
    model = dequantized(source, torch.bfloat16)
    model.config.dtype = torch.bfloat16
    for owner in (model.config, model.generation_config):
        owner.bos_token_id, owner.eos_token_id = (tokenizer.named_ids[n] for n in ("bos", "eos"))
    model.save_pretrained(folder)
    tokenizer.engine.save(str(folder / "tokenizer.json"))
    _write_tokenizer_options(folder, header, tokenizer.named_ids)


def _write_tokenizer_options(
    folder: Path, header: gguf_header.GgufHeader, named: Mapping[str, int]
) -> None:
    tokens = header.metadata["tokenizer.ggml.tokens"]
    names = {"bos": "bos", "eos": "eos", "unknown": "unk", "padding": "pad"}
    options: dict[str, Any] = {
        f"{short}_token": tokens[named[name]] for name, short in names.items() if name in named
    }
    options["tokenizer_class"] = "PreTrainedTokenizerFast"
    text = json.dumps(options, indent=1, sort_keys=True) + "\n"
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")
    template = str(header.metadata["tokenizer.chat_template"])
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")


_RECIPES: Mapping[str, Recipe] = {GGUF_TO_BF16: _gguf_to_bf16}
