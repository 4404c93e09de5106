"""One prediction beside its measurement, as the table and the figure of residuals read it."""

from dataclasses import dataclass
from typing import Any

from assay.pages import formatting
from assay.pages.formatting import Quantity


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


def _shown(value: float | None, unit: str) -> Quantity | None:
    return None if value is None else formatting.quantity(value, unit)
