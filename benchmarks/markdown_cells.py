"""Markdown tables, and figures as their cells show them."""

from collections.abc import Iterable, Sequence


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def ms(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e3:.4g}"


def percent(share: float) -> str:
    return f"{share:.1%}"


def with_error(seconds: float | None, error: float | None) -> str:
    if seconds is None or error is None:
        return "not fitted"
    return f"{seconds * 1e3:.3g} ({error:+.0%})"
