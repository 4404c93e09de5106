"""What came out of a load window, and a total divided by it."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.absence import Absent
from assay.analysis.window import Window, completed_in, tokens_arrived, with_content
from assay.analysis.wire.attempt import Attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowOutput:
    """``requests`` completed and ``tokens`` arrived in the window, out of ``attempts`` in all."""

    requests: int
    tokens: int | Absent
    attempts_with_tokens: int
    attempts: int


def window_output(attempts: Sequence[Attempt], window: Window | Absent) -> WindowOutput:
    if isinstance(window, Absent):
        return WindowOutput(
            requests=0, tokens=window, attempts_with_tokens=0, attempts=len(attempts)
        )
    return WindowOutput(
        requests=int(completed_in(attempts, window).sum()),
        tokens=tokens_arrived(attempts, window),
        attempts_with_tokens=with_content(attempts, window),
        attempts=len(attempts),
    )


def by_request(total: float | Absent, out: WindowOutput) -> float | Absent:
    return _by(total, out.requests, "completed request")


def by_token(total: float | Absent, out: WindowOutput) -> float | Absent:
    return _by(total, out.tokens, "output token")


def value_of(value: float | Absent) -> float | None:
    return None if isinstance(value, Absent) else value


def reasons_of(values: dict[str, float | Absent]) -> dict[str, str]:
    """Why each absent one is."""
    return {name: v.reason for name, v in values.items() if isinstance(v, Absent)}


def _by(total: float | Absent, count: int | Absent, of: str) -> float | Absent:
    if isinstance(total, Absent):
        return total
    if isinstance(count, Absent):
        return count
    return total / count if count else Absent(f"no {of} in the window")
