"""Predictions beside measurements: one line each, and the parameters they were made from."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from assay.ledger.models import Residual
from assay.pages import formatting
from assay.pages.contexts.head import RunHead
from assay.pages.formatting import Quantity
from runners.protocol.documents import Parameter

CLASS_ORDER = ("parameter_error", "measurement_problem", "model_omission", "unexplained")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualLine:
    """One prediction with what was measured.

    ``inside`` says whether the measurement lies in the predicted range (None: one of the two is missing);
    ``times_bound`` is measured / bound.
    """

    quantity: str
    conditions: dict[str, Any]
    unit: str
    predicted: float | None
    low: float | None
    high: float | None
    bound: float | None
    measured: float | None
    relative: float | None
    layer: str
    klass: str
    validity: str
    reason: str

    @property
    def name(self) -> str:
        """Short: the quantity, its case or segment, and the batch; the table has every condition."""
        where = self.conditions.get("case") or self.conditions.get("segment") or ""
        batch = self.conditions.get("batch")
        parts = (self.quantity, where, f"batch {batch}" if batch is not None else "")
        return " · ".join(str(part) for part in parts if part)

    @property
    def is_time(self) -> bool:
        return self.unit == "s"

    @property
    def is_coverage(self) -> bool:
        return self.quantity.endswith("_coverage")

    @property
    def agrees(self) -> bool:
        """Nothing is left to explain: in the range, or just as predicted."""
        return bool(self.inside) or (self.measured is not None and self.measured == self.predicted)

    @property
    def shown_predicted(self) -> Quantity | None:
        return _shown(self.predicted, self.unit)

    @property
    def shown_measured(self) -> Quantity | None:
        return _shown(self.measured, self.unit)

    @property
    def shown_bound(self) -> Quantity | None:
        return _shown(self.bound, self.unit)

    @property
    def range(self) -> str:
        if self.low is None or self.high is None:
            return ""
        texts, unit = formatting.same_scale([self.low, self.high], self.unit)
        return f"[{texts[0]}, {texts[1]}]{formatting.THIN_SPACE}{unit}"

    @property
    def inside(self) -> bool | None:
        if self.low is None or self.high is None or self.measured is None:
            return None
        return self.low <= self.measured <= self.high

    @property
    def below_bound(self) -> bool:
        """A measurement under its own lower bound: some parameter is wrong."""
        if not self.is_time or self.bound is None or self.measured is None:
            return False
        return self.measured < self.bound

    @property
    def times_bound(self) -> float | None:
        if not self.bound or self.measured is None:
            return None
        return self.measured / self.bound


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


def residuals_page(head: RunHead) -> ResidualsPage:
    lines = residual_lines(
        Residual.objects.filter(interpretation=head.interpretation).order_by("pk")
    )
    document = head.folder.predictions() if head.folder else None
    compared = [line for line in lines if line.inside is not None and not line.is_coverage]
    coverages = {p["coverage"] for p in document["predictions"]} if document else set()
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
    )


def _shown(value: float | None, unit: str) -> Quantity | None:
    return None if value is None else formatting.quantity(value, unit)
