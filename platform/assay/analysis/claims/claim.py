"""A claim about what an engine did, which never says more than its evidence carries.

Source shows what is possible, a log what was declared or resolved, a trace with counted calls what this run
did. A claim holds for the shapes, types, capability and version that its evidence was taken with.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from assay.analysis.errors import ClaimRefused
from runners.protocol.documents import Evidence, Pointer
from runners.protocol.events import EvidenceStrength


class Says(StrEnum):
    """What a claim says of a path."""

    possible = "possible"
    declared = "declared"
    ran = "ran"


_NEEDS: Mapping[Says, EvidenceStrength] = {
    Says.possible: EvidenceStrength.source,
    Says.declared: EvidenceStrength.log,
    Says.ran: EvidenceStrength.trace,
}
_ORDER = list(EvidenceStrength)
# Without these a trace's call counts cannot be tied to what ran.
_CORRELATION = ("layers", "steps")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Made by ``claim`` alone. ``t_ns`` is the evidence's own time, where it has one."""

    says: Says
    subject: str
    statement: str
    strength: EvidenceStrength
    pointer: Pointer | None
    conditions: Mapping[str, Any]
    engine_version: str
    t_ns: int | None


def claim(says: Says, subject: str, evidence: Evidence) -> Claim:
    """The claim, if the evidence carries it. Raises ClaimRefused with what would."""
    strength = EvidenceStrength(evidence["strength"])
    needed = _NEEDS[says]
    if _ORDER.index(strength) < _ORDER.index(needed):
        raise ClaimRefused(
            field=f"claim.{subject}",
            seen=f"{says} on {strength} evidence: {evidence['statement']}",
            allowed=f"{says} needs {needed}",
            remedy="Take a trace of the same start and shapes, or claim what was seen.",
        )
    if says is Says.ran:
        _check_correlated(subject, evidence)
    return Claim(
        says=says,
        subject=subject,
        statement=evidence["statement"],
        strength=strength,
        pointer=evidence["pointer"],
        conditions=evidence["conditions"],
        engine_version=evidence["engine_version"],
        t_ns=evidence["t_ns"],
    )


def _check_correlated(subject: str, evidence: Evidence) -> None:
    """An operator's name alone is not always unique: calls must be counted against layers and steps."""
    missing = [name for name in _CORRELATION if not evidence["conditions"].get(name)]
    if missing or evidence["pointer"] is None:
        raise ClaimRefused(
            field=f"claim.{subject}",
            seen=f"a trace without {', '.join(missing) or 'a place in the bundle'}",
            allowed="a trace whose calls are counted against layers and steps, and its place",
            remedy="Profile steps with their annotations.",
        )


def still_holds(made: Claim, *, engine_version: str, asked: Mapping[str, Any]) -> Claim:
    """The same claim for the asked conditions. Raises ClaimRefused once shape, type or version is another.

    ``asked`` names conditions as the evidence does; one that the evidence does not name is not covered.
    """
    if made.engine_version != engine_version:
        raise _expired(made, "engine_version", engine_version, made.engine_version)
    for name, value in asked.items():
        covered = made.conditions.get(name)
        if not _covers(covered, value):
            raise _expired(made, name, value, covered)
    return made


def _covers(covered: Any, value: Any) -> bool:
    if isinstance(covered, list | tuple | Mapping):
        return value in covered
    return covered is not None and covered == value


def _expired(made: Claim, name: str, value: Any, covered: Any) -> ClaimRefused:
    held = "nothing of it" if covered is None else covered
    return ClaimRefused(
        field=f"claim.{made.subject}",
        seen=f"{name} = {value}, the evidence holds for {held}",
        allowed="the conditions that the evidence was taken with",
        remedy="It has expired: take the evidence again with these.",
    )
