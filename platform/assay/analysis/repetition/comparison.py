"""Two runs of one declaration, compared request by request: the same token ids, or where they part.

Numeric consistency is claimed on the same hardware and the same engine version alone. Equal text, equal
statistics or an equal seed show nothing of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum

from assay.analysis.errors import ClaimRefused
from assay.analysis.repetition.output_ids import Output


class Verdict(StrEnum):
    equal = "equal"
    different = "different"
    unknown = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What must be the same for a numeric comparison to mean anything. None is not known."""

    spec_digest: str | None
    plan_digest: str | None
    hardware: str | None  # the host's fingerprint and the device's name
    engine: str | None  # the version that the running engine answered, with its build


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One request. ``at`` is the first token that differs; ``logprob_gap`` the largest difference."""

    request: str
    verdict: Verdict
    tokens: int
    at: int | None
    logprob_gap: float | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    requests: tuple[Compared, ...]

    def count(self, verdict: Verdict) -> int:
        return sum(c.verdict is verdict for c in self.requests)


def compare(first: Mapping[str, Output | None], again: Mapping[str, Output | None]) -> Repetition:
    """By request; one whose reply did not end in both runs (None, or missing) is unknown."""
    names = sorted({*first, *again})
    return Repetition(requests=tuple(_compared(n, first.get(n), again.get(n)) for n in names))


def _compared(name: str, first: Output | None, again: Output | None) -> Compared:
    if first is None or again is None:
        return _unknown(name, "it was not completed in both runs")
    if first.token_ids is None or again.token_ids is None:
        return _unknown(name, "its reply tells no token ids")
    was, now = _flat(first), _flat(again)
    at = next((n for n, (a, b) in enumerate(zip(was, now, strict=False)) if a != b), None)
    if at is None and len(was) != len(now):
        at = min(len(was), len(now))
    return Compared(
        request=name,
        verdict=Verdict.equal if at is None else Verdict.different,
        tokens=len(was),
        at=at,
        logprob_gap=_gap(first, again),
        reason="",
    )


def _flat(output: Output) -> list[tuple[int, int]]:
    ids = output.token_ids or {}
    return [(choice, token) for choice in sorted(ids) for token in ids[choice]]


def _gap(first: Output, again: Output) -> float | None:
    """Over the tokens that both told a logprob of."""
    gaps = [
        abs(a - b)
        for choice in set(first.logprobs) & set(again.logprobs)
        for a, b in zip(first.logprobs[choice], again.logprobs[choice], strict=False)
    ]
    return max(gaps, default=None)


def _unknown(name: str, reason: str) -> Compared:
    return Compared(
        request=name, verdict=Verdict.unknown, tokens=0, at=None, logprob_gap=None, reason=reason
    )


def check_comparable(first: Setting, again: Setting) -> None:
    """Raises ClaimRefused where hardware, version or declaration differ or are not known."""
    for field in fields(Setting):
        was, now = getattr(first, field.name), getattr(again, field.name)
        if was is None or was != now:
            raise ClaimRefused(
                field=f"repetition.{field.name}",
                seen=f"{was or 'unknown'} and {now or 'unknown'}",
                allowed="the same declaration and plan on the same hardware and engine version",
                remedy="Repeat it where it ran, with what ran.",
            )
