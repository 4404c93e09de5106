"""The lengths of one kind of request, in tokens, and the fields that declare them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    field: str
    input_tokens: int
    output_tokens: int
