"""A scan over lengths: one variable moves, and every x is a token count that really was, never a limit.

Source: chapter 2.7.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.perfmodel.errors import ModelRefused
from runners.protocol.errors import Finding

INPUT_LENGTHS = (512, 2048, 8192, 32768)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPoint:
    """One point: real tokens in and out, None while nothing ran; ``cap`` is the limit that was set on
    output."""

    input_tokens: int | None
    output_tokens: int | None
    cap: int | None = None


def input_lengths(max_length: int | None, *, output_tokens: int) -> tuple[int, ...]:
    """The lengths of the scan that a model of ``max_length`` takes beside a fixed output."""
    if max_length is None:
        return INPUT_LENGTHS
    return tuple(n for n in INPUT_LENGTHS if n + output_tokens <= max_length)


def input_axis(points: Sequence[ScanPoint]) -> list[int]:
    """x of a scan over inputs at a fixed output.

    Raises ModelRefused where a count is missing or the real outputs differ: then two variables moved.
    """
    outputs = {point.output_tokens for point in points}
    if None in outputs or len(outputs) > 1:
        seen = ", ".join(str(point.output_tokens) for point in points)
        raise _refused("output_tokens", seen, "the same real count at every point")
    return _counted("input_tokens", [point.input_tokens for point in points])


def output_axis(points: Sequence[ScanPoint]) -> list[int]:
    """x of a scan over outputs at a fixed input: actual lengths, whatever the caps were."""
    inputs = {point.input_tokens for point in points}
    if None in inputs or len(inputs) > 1:
        seen = ", ".join(str(point.input_tokens) for point in points)
        raise _refused("input_tokens", seen, "the same real count at every point")
    return _counted("output_tokens", [point.output_tokens for point in points])


def _counted(field: str, counts: Sequence[int | None]) -> list[int]:
    real = [count for count in counts if count is not None]
    if len(real) != len(counts):
        raise _refused(field, "only a limit", "a counted number of tokens at every point")
    return real


def _refused(field: str, seen: str, allowed: str) -> ModelRefused:
    return ModelRefused(
        Finding(
            field=field, seen=seen, allowed=allowed, remedy="Plot against tokens that were counted."
        )
    )
