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


def _storable(text: str) -> str:
    """Lines are allowed; NUL and lone surrogates, which a database refuses, are not."""
    if "\x00" in text or text != text.encode("utf-8", "ignore").decode():
        raise ValueError("text without NUL and lone surrogates only")
    return text


Prose = Annotated[str, Field(max_length=20_000), AfterValidator(_storable)]
