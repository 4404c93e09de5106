"""What an artifact's own files say about it, keyed by the declared field that they must agree with.

A field that the files do not state is left out of ``stated``: it becomes a gap, never an agreement.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runners.artifacts.input_encoder import InputEncoder


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A value and where it was read: a metadata key, a tensor, a file."""

    value: Any
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactFacts:
    """``tensor_dtypes`` maps every tensor's name to its stored dtype."""

    stated: Mapping[str, Fact]
    tensor_dtypes: Mapping[str, str]
    encoder: InputEncoder
    named_special_ids: Mapping[str, int]
