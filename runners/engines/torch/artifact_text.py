"""Tokenizer and chat template of the served artifact, read as the plan reads them, so both count alike."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from runners.artifacts import gguf_header
from runners.artifacts import tokenizer as artifact_tokenizer
from runners.artifacts.chat_template import ChatTemplate, TemplateProblem
from runners.engines.torch.settings import ServerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactText:
    tokenizer: Tokenizer
    vocabulary: int
    template: ChatTemplate | None
    eos_token_ids: tuple[int, ...]

    def encode(self, text: str) -> list[int]:
        """Ids of the text as written; nothing is added to it."""
        return list(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def encode_chat(self, messages: Sequence[Mapping[str, Any]]) -> list[int]:
        """Ids of the messages in the artifact's template. Raises TemplateProblem."""
        if self.template is None:
            raise TemplateProblem("the artifact has no chat template; use /v1/completions")
        return self.encode(self.template.render(messages))


def read_text(config: ServerConfig) -> ArtifactText:
    path = Path(config.weight_file)
    return _from_gguf(path) if config.weight_format == "gguf" else _from_folder(path.parent)


def _from_gguf(path: Path) -> ArtifactText:
    header = gguf_header.read(path)
    read = artifact_tokenizer.from_gguf(header)
    template = header.metadata.get("tokenizer.chat_template")
    named = {
        f"{name}_token": text
        for name, token_id in read.named_ids.items()
        if (text := read.token_text(token_id)) is not None
    }
    eos = read.named_ids.get("eos")
    return ArtifactText(
        tokenizer=read.engine,
        vocabulary=read.vocabulary,
        template=ChatTemplate(text=template, special_tokens=named) if template else None,
        eos_token_ids=() if eos is None else (eos,),
    )


def _from_folder(folder: Path) -> ArtifactText:
    """``tokenizer.json``, with the template and the end token of ``tokenizer_config.json`` beside it."""
    read = artifact_tokenizer.from_file(folder / "tokenizer.json")
    beside = folder / "tokenizer_config.json"
    settings = json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else {}
    named = {
        name: token["content"] if isinstance(token, dict) else token
        for name in ("bos_token", "eos_token", "pad_token", "unk_token")
        if (token := settings.get(name))
    }
    alone = folder / "chat_template.jinja"
    template = (
        alone.read_text(encoding="utf-8") if alone.exists() else settings.get("chat_template")
    )
    eos = read.engine.token_to_id(named["eos_token"]) if "eos_token" in named else None
    return ArtifactText(
        tokenizer=read.engine,
        vocabulary=read.vocabulary,
        template=ChatTemplate(text=template, special_tokens=named) if template else None,
        eos_token_ids=() if eos is None else (eos,),
    )
