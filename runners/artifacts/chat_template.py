"""The chat template of an artifact: its hash, and messages rendered through it in a sandbox.

A template is code from a model file. It runs in Jinja's immutable sandbox with the same settings and
functions that transformers gives it, except the clock: a plan whose prompts depend on the day cannot be
made again, so ``strftime_now`` is refused.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from jinja2 import TemplateError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

# Everything that template code can raise from inside the sandbox.
_TEMPLATE_FAULTS = (
    *(TemplateError, ArithmeticError, AttributeError, LookupError, MemoryError),
    *(RecursionError, TypeError, ValueError),
)


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
        try:
            template = _environment().from_string(self.text)
            return template.render(
                messages=list(messages), add_generation_prompt=True, **self.special_tokens
            )
        except _TEMPLATE_FAULTS as error:
            raise TemplateProblem(str(error) or type(error).__name__) from error


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = _no_clock
    return environment


def _to_json(value: Any, ensure_ascii: bool = False, indent: int | None = None) -> str:
    # Jinja's own filter escapes HTML characters, which would change the model's input.
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)


def _no_clock(_format: str) -> NoReturn:
    raise TemplateError("the template asks for the current date, so its prompts cannot be repeated")
