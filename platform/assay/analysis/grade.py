"""How far the client's own figures can be trusted, in one letter with its reasons.

A: the client kept its times, its own error is known at this concurrency, others left the cores alone.
B: nothing speaks against the figures, but one of these was not measured; or the engine was modified on
purpose, and whatever it gave is no figure of the version that it names.
C: others used the host's cores beyond the bound (disturbed). D: the client limited the run.
The letter is of the client's times and rates only; it says nothing on the server's own record.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from assay.analysis.documents import GradeDocument
from assay.analysis.modification import modification
from runners.protocol.documents import IdentityItem


class Letter(StrEnum):
    a = "A"
    b = "B"
    c = "C"
    d = "D"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """``reasons`` say why it is not an A, the worst first."""

    letter: Letter
    reasons: tuple[str, ...]


def grade(client_error: Mapping[str, Any], identity: Sequence[IdentityItem] = ()) -> Grade:
    """From ``client_error`` of ``clocks.json`` and the identity items of what ran."""
    found = [
        *_limited(client_error),
        *_disturbed(client_error),
        *_modified(identity),
        *_unknown(client_error),
    ]
    found.sort(key=lambda pair: pair[0], reverse=True)
    return Grade(
        letter=found[0][0] if found else Letter.a, reasons=tuple(reason for _, reason in found)
    )


def grade_document(found: Grade) -> GradeDocument:
    return GradeDocument(letter=found.letter.value, reasons=list(found.reasons))


def _limited(error: Mapping[str, Any]) -> list[tuple[Letter, str]]:
    if not error.get("client_limited"):
        return []
    why = "; ".join(error.get("client_limits") or ["no reason was kept"])
    return [(Letter.d, f"client limited: {why}")]


def _disturbed(error: Mapping[str, Any]) -> list[tuple[Letter, str]]:
    seen = error.get("disturbance") or {}
    if not seen.get("disturbed"):
        return []
    return [
        (
            Letter.c,
            f"disturbed: other processes used {seen['others_cores_mean']:.2f} cores in the measured "
            f"phase (bound: {seen['bound_cores']:g}; steal: {seen['steal_cores_mean']:.2f})",
        )
    ]


def _modified(identity: Sequence[IdentityItem]) -> list[tuple[Letter, str]]:
    said = modification(identity)
    return [(Letter.b, f"modified engine: {said}")] if said else []


def _unknown(error: Mapping[str, Any]) -> list[tuple[Letter, str]]:
    found = []
    if "client_limited" not in error:
        found.append((Letter.b, f"the client's lags: {error.get('absent', 'not measured')}"))
    seen = error.get("disturbance") or {}
    if seen.get("disturbed") is None:
        found.append(
            (Letter.b, f"use of the cores by others: {seen.get('reason', 'not measured')}")
        )
    own = error.get("self_calibration") or {}
    if "arrival_error" not in own:
        found.append((Letter.b, f"the client's own error: {own.get('absent', 'not measured')}"))
    elif own.get("disturbed") is not False:
        found.append((Letter.b, "the client's own error was measured on a disturbed machine"))
    return found
