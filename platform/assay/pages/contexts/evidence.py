"""What the conclusions rest on: gaps, observation points, clocks, boundary, and what was refused."""

from dataclasses import dataclass
from typing import Any

from assay.analysis.boundary import HOP_SETTINGS, BoundaryTable, boundary_table
from assay.analysis.dependencies import DependencyAccount
from assay.ledger.models import GapEntry
from assay.pages.contexts.head import RunHead
from runners.protocol.documents import ClocksDocument, ObservationPoint

QUANTILES = ("p50_ns", "p90_ns", "p99_ns", "max_ns")
PARTS = (
    "boundary",
    "artifact",
    "run identity",
    "observation points",
    "clock convention",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One of the five parts that a complete archive has."""

    name: str
    present: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRow:
    """How far the client itself was late, in one segment: quantiles in ns, or why there are none."""

    segment: str
    what: str
    quantiles: list[float | None]
    n: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidencePage:
    gaps: list[GapEntry]
    parts: list[Part]
    points: list[ObservationPoint]
    clocks: ClocksDocument | None
    drift_ns: int | None
    client_error: list[ErrorRow]
    kernel: list[tuple[str, Any]]
    boundary: BoundaryTable | None
    dependencies: list[DependencyAccount]
    hop_labels: tuple[str, ...] = tuple(label for _, label in HOP_SETTINGS)

    @property
    def complete(self) -> bool:
        return all(part.present for part in self.parts)


def evidence_page(head: RunHead) -> EvidencePage:
    folder = head.folder
    identity = folder.identity() if folder else None
    points = folder.observation_points() if folder else []
    clocks = folder.clocks() if folder else None
    boundary = head.spec.get("boundary") or {}
    found = (
        bool(boundary),
        bool(identity and identity["artifact"]),
        bool(identity and identity["run"]),
        bool(points),
        clocks is not None,
    )
    gaps = GapEntry.objects.filter(interpretation=head.interpretation).order_by("pk")
    return EvidencePage(
        gaps=list(gaps) if head.interpretation else [],
        parts=[Part(name=n, present=p) for n, p in zip(PARTS, found, strict=True)],
        points=points,
        clocks=clocks,
        drift_ns=wall_drift_ns(clocks) if clocks else None,
        client_error=error_rows(clocks["client_error"]) if clocks else [],
        kernel=[(k, v) for k, v in clocks["sync"].items() if v is not None] if clocks else [],
        boundary=boundary_table(boundary) if boundary else None,
        dependencies=dependencies(head),
    )


def dependencies(head: RunHead) -> list[DependencyAccount]:
    """Each external dependency on its own; an older interpretation has none."""
    document = head.reading.document() if head.reading else None
    return list(document.get("dependencies", ())) if document else []


def error_rows(client_error: dict[str, Any]) -> list[ErrorRow]:
    """One row a segment and kind of lag. Segments that a record does not tell apart are one."""
    segments = client_error.get("by_segment") or {client_error.get("segment") or "": client_error}
    rows = []
    for segment, lags in segments.items():
        for name in ("loop_lag", "send_lag"):
            lag = lags.get(name)
            if isinstance(lag, dict):
                rows.append(
                    ErrorRow(
                        segment=segment,
                        what=str(lag.get("what") or name.replace("_", " ")),
                        quantiles=[lag.get(key) for key in QUANTILES],
                        n=int(lag.get("n") or 0),
                        reason=str(lag.get("reason") or ""),
                    )
                )
    return rows


def wall_drift_ns(clocks: ClocksDocument) -> int | None:
    """How far the wall clock moved against the monotonic one between first and last anchor."""
    anchors = clocks["anchors"]
    if len(anchors) < 2:
        return None
    first, last = anchors[0], anchors[-1]
    wall = last["wall_ns"] - first["wall_ns"]
    return wall - (last["monotonic_ns"] - first["monotonic_ns"])
