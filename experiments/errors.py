"""Why a declaration is refused: each finding names the field, the value seen, what is allowed, what to do."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What is wrong: the field, the value seen, the values allowed, what to do."""

    field: str
    seen: str
    allowed: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.field}: {self.seen} (allowed: {self.allowed}). {self.remedy}"


class Refusal(Exception):
    """A declaration that cannot be run as written. Nothing was launched or written."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__("\n".join(str(f) for f in findings))
        self.findings = tuple(findings)


def refuse(*, field: str, seen: object, allowed: str, remedy: str) -> Refusal:
    """A refusal with one finding, to be raised by the caller."""
    return Refusal([Finding(field=field, seen=str(seen), allowed=allowed, remedy=remedy)])
