"""Errors of the analysis: input that cannot be read, and claims that must not be made."""

from collections.abc import Callable
from functools import partial
from typing import Any

from runners.protocol.errors import Finding
from runners.protocol.exit_codes import REFUSED


class AnalysisError(Exception):
    """Base of both; ``finding`` names the field, the value seen, the values allowed and the remedy."""

    exit_code = REFUSED

    def __init__(self, *, field: str, seen: str, allowed: str, remedy: str) -> None:
        self.finding = Finding(field=field, seen=seen, allowed=allowed, remedy=remedy)
        super().__init__(str(self.finding))

    def __reduce__(self) -> tuple[Callable[..., "AnalysisError"], tuple[Any, ...]]:
        """It may be raised in a worker process and must reach the one that reports it."""
        f = self.finding
        words = {"field": f.field, "seen": f.seen, "allowed": f.allowed, "remedy": f.remedy}
        return partial(type(self), **words), ()


class BadRecord(AnalysisError):
    """A line, row or option of the input cannot be read; the message names it."""


class ClaimRefused(AnalysisError):
    """The numbers exist, but the asked statement does not follow from them."""
