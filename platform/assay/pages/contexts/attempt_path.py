"""The critical path of one request as a table: each stage, its part, and what removing it could save."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.documents import Lane
from assay.analysis.stage_graph import StageRow, read_path, request_stages


@dataclass(frozen=True, slots=True, kw_only=True)
class StageLine:
    row: StageRow
    percent: float  # of the whole
    x: str
    width: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PathView:
    lines: list[StageLine]
    total_s: float
    incomplete: str | None
    label: str
    notes: tuple[str, ...]

    @property
    def longest(self) -> StageLine:
        return max(self.lines, key=lambda line: line.row.duration_s)


def path_view(lanes: Sequence[Lane]) -> PathView | None:
    """None where the client's side holds fewer than two instants."""
    if not any(lane["perspective"] == "client" for lane in lanes):
        return None
    stages, lacking, notes = request_stages(lanes)
    reading = read_path(stages, not_covered=lacking, notes=notes)
    total = reading.path.total_s
    if not reading.rows or total <= 0:
        return None
    lines, at = [], 0.0
    for row in reading.rows:
        share = row.duration_s / total
        lines.append(
            StageLine(
                row=row,
                percent=100 * share,
                x=f"{1000 * at:.2f}",
                width=f"{max(1.0, 1000 * share):.2f}",
            )
        )
        at += share
    return PathView(
        lines=lines,
        total_s=total,
        incomplete=reading.path.incomplete,
        label=reading.path.label,
        notes=reading.notes,
    )
