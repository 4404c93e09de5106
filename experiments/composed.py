"""A composed declaration: the whole tree as plain values, and where it came from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """``choices`` maps each config group to the file chosen for it; ``moved`` are the swept overrides."""

    document: Mapping[str, Any]
    overrides: tuple[str, ...]
    choices: Mapping[str, str]
    moved: tuple[str, ...] = ()
