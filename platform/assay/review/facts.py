"""What one archive says, as the checklist reads it: plain documents, no database and no files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.analysis.record_completeness import Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One run. None is a document that its bundle does not hold; an empty mapping says nothing."""

    name: str  # of the run, as evidence names it
    spec: Mapping[str, Any]
    level: str
    identity: Mapping[str, Any] | None = None
    points: Sequence[Mapping[str, Any]] = ()
    clocks: Mapping[str, Any] | None = None
    predictions: Mapping[str, Any] | None = None
    predictions_first: bool | None = None  # registered before the launch, by the session log
    reading: Mapping[str, Any] = field(default_factory=dict)
    cancel_checks: Sequence[Mapping[str, Any]] = ()
    measured: Measured = field(default_factory=Measured)

    @property
    def artifact(self) -> Mapping[str, Any]:
        """The verified artifact; else nothing, since what was only declared is no evidence."""
        return (self.identity or {}).get("artifact") or {}

    @property
    def aggregates(self) -> Sequence[Mapping[str, Any]]:
        return self.reading.get("aggregates") or ()

    @property
    def residuals(self) -> Sequence[Mapping[str, Any]]:
        return self.reading.get("residuals") or ()

    def ended(self, state: str) -> int:
        """How many attempts ended in that state of the client."""
        counts = (self.reading.get("ledger_counts") or {}).get("client") or {}
        return int(counts.get(state, 0))
