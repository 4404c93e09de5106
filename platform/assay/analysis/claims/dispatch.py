"""What became of each batch shape: padded, replayed, captured, downgraded, run eagerly, or an error.

More than one may hold of one shape (padded and replayed), so a shape has a set of outcomes, never yes or no.
An outcome is one that the engine counted; where it does not say, the set is empty and the reason is told.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from assay.analysis.errors import BadRecord


class Outcome(StrEnum):
    padding = "padded to a bucket"
    bucket = "exactly a bucket"
    reuse = "replay of a captured graph"
    capture = "new capture"
    downgrade = "downgrade to another mode"
    eager = "eager"
    error = "error"


EAGER = "NONE"
# Modes that may replay a graph, the most that is captured first: a later one is a downgrade of an earlier.
_MODES = ("FULL", "PIECEWISE", EAGER)
_ALLOWED: Mapping[str, frozenset[str]] = {
    "FULL": frozenset({"FULL"}),
    "PIECEWISE": frozenset({"PIECEWISE"}),
    "FULL_DECODE_ONLY": frozenset({"FULL", EAGER}),
    "FULL_AND_PIECEWISE": frozenset({"FULL", "PIECEWISE"}),
    EAGER: frozenset({EAGER}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSetting:
    """``buckets`` are the sizes captured at the start; ``capability`` is what the back end can capture.

    Each is None where the run does not say it.
    """

    mode: str | None
    buckets: tuple[int, ...] | None
    capability: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """One shape. The key is what a graph is looked up by; a part that the engine does not print is None."""

    tokens: int
    padded_tokens: int | None
    requests: int | None
    uniform: bool | None
    lora: bool | None
    mode: str
    setting: GraphSetting
    outcomes: frozenset[Outcome]
    count: int
    evidence: str | None
    reason: str


def dispatches(rows: Iterable[Mapping[str, Any]], setting: GraphSetting) -> list[Dispatch]:
    """``shape_dispatch`` rows of the engine's record, by shape. Counts of equal shapes are added up."""
    found: dict[tuple[Any, ...], Dispatch] = {}
    for row in rows:
        made = _dispatch(row, setting)
        key = (made.tokens, made.padded_tokens, made.requests, made.uniform, made.lora, made.mode)
        before = found.get(key)
        found[key] = made if before is None else _more(before, made)
    return sorted(found.values(), key=lambda d: (d.tokens, d.padded_tokens or 0, d.mode))


def _dispatch(row: Mapping[str, Any], setting: GraphSetting) -> Dispatch:
    tokens, count = row.get("tokens"), row.get("count")
    if not isinstance(tokens, int) or not isinstance(count, int) or "mode" not in row:
        raise BadRecord(
            field="shape_dispatch",
            seen=str(dict(row)),
            allowed="tokens and count as whole numbers, and a mode",
            remedy="Read the log with a reader for its version.",
        )
    mode, padded = str(row["mode"]).upper(), row.get("padded")
    outcomes, reason = _outcomes(row, mode, tokens, padded, setting)
    return Dispatch(
        tokens=tokens,
        padded_tokens=padded,
        requests=row.get("requests"),
        uniform=row.get("uniform"),
        lora=row.get("lora"),
        mode=mode,
        setting=setting,
        outcomes=outcomes,
        count=count,
        evidence=row.get("source"),
        reason=reason,
    )


def _outcomes(
    row: Mapping[str, Any], mode: str, tokens: int, padded: int | None, setting: GraphSetting
) -> tuple[frozenset[Outcome], str]:
    if row.get("error"):
        return frozenset({Outcome.error}), str(row["error"])
    if mode not in _MODES:
        return frozenset(), f"the mode {mode} is not a known one"
    found = set(_padding(tokens, padded, setting)) if mode != EAGER else {Outcome.eager}
    allowed = _ALLOWED.get((setting.mode or "").upper())
    if allowed is not None and mode not in allowed:
        found.add(Outcome.downgrade)
    if mode != EAGER:
        found |= _replayed(row, padded, setting)
    return frozenset(found), _reason(mode, setting)


def _padding(tokens: int, padded: int | None, setting: GraphSetting) -> Iterable[Outcome]:
    if padded is not None and padded > tokens:
        yield Outcome.padding
    elif setting.buckets is not None and tokens in setting.buckets:
        yield Outcome.bucket


def _replayed(row: Mapping[str, Any], padded: int | None, setting: GraphSetting) -> set[Outcome]:
    if row.get("captured"):
        return {Outcome.capture}
    size = padded if padded is not None else row["tokens"]
    return {Outcome.reuse} if setting.buckets is not None and size in setting.buckets else set()


def _reason(mode: str, setting: GraphSetting) -> str:
    if mode != EAGER and setting.buckets is None:
        return (
            "the run does not say which sizes were captured: replay and capture are not told apart"
        )
    if mode == EAGER and setting.mode is None:
        return "the run does not say which mode was asked for"
    return ""


def _more(before: Dispatch, later: Dispatch) -> Dispatch:
    return Dispatch(
        tokens=before.tokens,
        padded_tokens=before.padded_tokens,
        requests=before.requests,
        uniform=before.uniform,
        lora=before.lora,
        mode=before.mode,
        setting=before.setting,
        outcomes=before.outcomes | later.outcomes,
        count=before.count + later.count,
        evidence=before.evidence,
        reason=before.reason,
    )


def outcome_shares(found: Sequence[Dispatch]) -> dict[Outcome, float]:
    """The share of steps that had each outcome; shares may add up to more than one."""
    total = sum(d.count for d in found)
    return {
        outcome: sum(d.count for d in found if outcome in d.outcomes) / total
        for outcome in Outcome
        if total and any(outcome in d.outcomes for d in found)
    }
