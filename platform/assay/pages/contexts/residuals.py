"""Predictions beside measurements: one line each, and the parameters they were made from."""

from collections.abc import Iterable
from dataclasses import dataclass

from assay.analysis.residual.state_columns import StateColumns
from assay.ledger.models import Residual
from assay.pages.contexts.head import RunHead
from assay.pages.residual_line import ResidualLine
from assay.pages.under_roofs import MeasuredRoofline, measured_roofline
from runners.protocol.documents import Parameter


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualsPage:
    times: list[ResidualLine]
    others: list[ResidualLine]  # work and capacity
    held_out: list[ResidualLine]  # how often ranges held on steps that no parameter was fitted to
    parameters: list[Parameter]
    assumptions: list[str]
    registered_at: str | None
    coverage: float | None  # nominal, of the ranges
    inside: int
    compared: int
    state: list[StateColumns]
    roofline: MeasuredRoofline | None

    @property
    def measured_others(self) -> int:
        return sum(line.measured is not None for line in self.others)

    @property
    def nominal(self) -> str:
        return "" if self.coverage is None else f"{self.coverage:.0%}"


def residual_lines(rows: Iterable[Residual]) -> list[ResidualLine]:
    return [
        ResidualLine(
            quantity=row.quantity,
            conditions=row.conditions,
            unit=row.unit,
            predicted=row.predicted,
            low=row.low,
            high=row.high,
            bound=row.bound,
            measured=row.measured,
            relative=row.relative,
            layer=row.layer,
            klass=row.klass,
            validity=row.validity,
            reason=row.reason,
        )
        for row in rows
    ]


def _state(head: RunHead) -> list[StateColumns]:
    """The KV cache in three columns; older readings have none."""
    reading = head.reading
    document = reading.document() if reading is not None and reading.present else None
    return list(document.get("state_columns", ())) if document else []


def residuals_page(head: RunHead) -> ResidualsPage:
    lines = residual_lines(
        Residual.objects.filter(interpretation=head.interpretation).order_by("pk")
    )
    document = head.folder.predictions() if head.folder else None
    compared = [line for line in lines if line.inside is not None and not line.is_coverage]
    stated = document["predictions"] if document else []
    coverages = {p["coverage"] for p in stated if p["coverage"] is not None}
    return ResidualsPage(
        times=[line for line in lines if line.is_time],
        others=[line for line in lines if not line.is_time and not line.is_coverage],
        held_out=[line for line in lines if line.is_coverage],
        parameters=document["parameters"] if document else [],
        assumptions=document["assumptions"] if document else [],
        registered_at=document["registered_at"] if document else None,
        coverage=coverages.pop() if len(coverages) == 1 else None,
        inside=sum(bool(line.inside) for line in compared),
        compared=len(compared),
        state=_state(head),
        roofline=measured_roofline(head.spec, document["parameters"], lines) if document else None,
    )
