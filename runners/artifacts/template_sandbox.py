"""Template code of a model file, run in Jinja's immutable sandbox.

A module of its own, because Jinja takes long to load and most runs ask an endpoint without any template.
"""

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from jinja2 import TemplateError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

# Everything that template code can raise from inside the sandbox.
FAULTS = (
    *(TemplateError, ArithmeticError, AttributeError, LookupError, MemoryError),
    *(RecursionError, TypeError, ValueError),
)


def render(text: str, variables: Mapping[str, Any]) -> str:
    return _environment().from_string(text).render(**variables)


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
