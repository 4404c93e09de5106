"""The chat template of an artifact: its hash, and messages rendered through it in a sandbox.

A template is code from a model file. It runs in Jinja's immutable sandbox with the same settings and
functions that transformers gives it, except the clock: a plan whose prompts depend on the day cannot be
made again, so ``strftime_now`` is refused.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class TemplateProblem(Exception):
    """The template cannot be compiled or refuses the messages; the message holds its own words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTemplate:
    text: str
    special_tokens: Mapping[str, str]  # bos_token, eos_token and the like, as templates name them

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode("utf-8")).hexdigest()

    def render(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """The full model input for ``messages`` with the prompt for the next answer appended."""
        from runners.artifacts import template_sandbox

        variables = {"messages": list(messages), "add_generation_prompt": True}
        try:
            return template_sandbox.render(self.text, variables | dict(self.special_tokens))
        except template_sandbox.FAULTS as error:
            raise TemplateProblem(str(error) or type(error).__name__) from error
