"""An artifact's own way from messages to token ids: chat template, then tokenizer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runners.artifacts.chat_template import ChatTemplate
from runners.artifacts.tokenizer import ArtifactTokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class InputEncoder:
    """What the plan counts with."""

    tokenizer: ArtifactTokenizer
    template: ChatTemplate

    @property
    def vocabulary(self) -> int:
        return self.tokenizer.vocabulary

    def render(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """The full model input of a chat. Raises TemplateProblem if the template refuses the messages."""
        return self.template.render(messages)

    def encode(self, text: str) -> list[int]:
        """Token ids of exactly this text."""
        return self.tokenizer.encode(text)

    def token_text(self, token_id: int) -> str | None:
        """How the vocabulary writes a token."""
        return self.tokenizer.token_text(token_id)
