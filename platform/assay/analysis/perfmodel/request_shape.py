"""Requests by their shape: what a measurement at one shape says of another, and what it does not.

A long input with a short output loads prefill, the reverse decode; each has its own limit. Twice the
output is more than twice the steps' time wherever a step grows with its context. Sources: chapter 1.2.2
and 2.3.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from assay.analysis.perfmodel.errors import ModelRefused
from runners.protocol.errors import Finding


class Side(StrEnum):
    """Which side of a request has more tokens."""

    INPUT = "long input, short output"
    OUTPUT = "short input, long output"
    EVEN = "as long in as out"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTokens:
    """Real token counts of one request: run through the model, and put out."""

    input_tokens: int
    output_tokens: int

    @property
    def side(self) -> Side:
        if self.input_tokens == self.output_tokens:
            return Side.EVEN
        return Side.INPUT if self.input_tokens > self.output_tokens else Side.OUTPUT


def check_transfer(measured: RequestTokens, wanted: RequestTokens) -> None:
    """Raise unless both requests lean the same way; a result is not carried over to the other side."""
    if measured.side is not wanted.side:
        raise ModelRefused(
            Finding(
                field="request shape",
                seen=f"measured at {measured.side}, asked for {wanted.side}",
                allowed=f"requests with {measured.side}",
                remedy="Prefill and decode have limits of their own: measure or model that shape.",
            )
        )


def output_time_s(step_s: Callable[[int], float], *, request: RequestTokens) -> float:
    """Time of all decode steps: the sum of ``step_s(stored tokens)`` as the context grows.

    The first token comes from the prompt's own pass, so n tokens take n - 1 steps.
    """
    first = request.input_tokens
    return sum(step_s(first + done) for done in range(request.output_tokens - 1))
