"""Text that people send: what no name holds and a database refuses is not let in."""

from typing import Annotated

from pydantic import AfterValidator, Field


def _printable(text: str) -> str:
    """No control characters, no lone surrogates."""
    if not text.isprintable():
        raise ValueError("printable characters only")
    return text


Words = Annotated[str, Field(max_length=200), AfterValidator(_printable)]
Query = Annotated[str, Field(max_length=1000), AfterValidator(_printable)]
