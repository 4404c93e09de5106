"""What a model may stand for: the main subject of an experiment, or the measure of another one.

A preview may be looked at, but no main experiment rests on it. A mixture of experts is no dense model of
its active size: all experts are stored and a step reads the union of those chosen. Source: chapter 2.5.4.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.structure import Structure
from assay.analysis.perfmodel.weights import count_parameters
from runners.protocol.errors import Finding

_FROZEN = re.compile(r"[0-9a-f]{40}|(sha256:)?[0-9a-f]{64}")


class Stage(StrEnum):
    """How far its publisher says a model is."""

    RELEASED = "released"
    PREVIEW = "preview"
    EXPERIMENTAL = "experimental"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A model as an experiment would use it. ``checked_by`` is the evidence that it behaves as described."""

    model: str
    revision: str
    stage: Stage
    checked_by: str | None


def check_main_subject(standing: Standing) -> None:
    """Raise ModelRefused unless the model is released, frozen by a digest and its behaviour verified."""
    if standing.stage is not Stage.RELEASED:
        raise _refused(
            "stage", f"{standing.model}: {standing.stage}", Stage.RELEASED, "Use a released model."
        )
    if not _FROZEN.fullmatch(standing.revision):
        raise _refused(
            "revision",
            standing.revision,
            "a commit or a SHA-256",
            "A name or branch may move: pin it.",
        )
    if not standing.checked_by:
        raise _refused(
            "checked_by",
            "nothing",
            "a run or test of its behaviour",
            "Verify it before relying on it.",
        )


def dense_size(structure: Structure) -> int:
    """Parameters by which a model may be compared with a dense one; refused for a mixture of experts."""
    counts = count_parameters(structure)
    if counts.active_all != counts.total:
        raise _refused(
            "active parameters",
            f"{counts.active_all} of {counts.total}",
            "a model that runs all its parameters for every token",
            "Compare compute, storage and transfer each by its own list.",
        )
    return counts.total


def _refused(field: str, seen: str, allowed: str, remedy: str) -> ModelRefused:
    return ModelRefused(Finding(field=field, seen=seen, allowed=allowed, remedy=remedy))
