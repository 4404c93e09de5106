"""What a declared field is for when two declarations are compared, and what its null means.

``key``      names the thing measured; a difference makes another series.
``variable`` is what a study moves on purpose; a difference is a declared one.
``context``  is recorded for the reader (names, notes); it enters no digest.
``reading``  is observed, never declared; it never keys anything.

A null means "none here" (no cancel rule, no expert layers) unless the field was made by ``unknown_field`` or
``unknown_part``: then it means "not known", and unknown never equals unknown.
"""

from dataclasses import field
from enum import StrEnum
from typing import Any

MISSING: Any = "???"  # OmegaConf's mark for "must be declared"


class Role(StrEnum):
    key = "key"
    variable = "variable"
    context = "context"
    reading = "reading"


def key_field(default: Any = MISSING) -> Any:
    return _field(Role.key, default)


def variable_field(default: Any = MISSING) -> Any:
    return _field(Role.variable, default)


def unknown_field(default: Any = None) -> Any:
    """A key whose value may not be known: null is unknown, a gap, and is never filled."""
    return field(default=default, metadata={"role": Role.key.value, "null": "unknown"})


def unknown_part(schema: Any) -> Any:
    """A part that is declared whole, or null: then nothing of it is known."""
    return field(default_factory=schema, metadata={"role": Role.key.value, "null": "unknown"})


def context_field(default: Any = MISSING) -> Any:
    return _field(Role.context, default)


def _field(role: Role, default: Any) -> Any:
    metadata = {"role": role.value}
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)
