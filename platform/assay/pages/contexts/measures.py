"""Aggregates as people read them: value, unit, interval, population and rule on one line."""

import math
from dataclasses import dataclass

from assay.ledger.models import Measure, MeasureKind
from assay.pages import formatting
from assay.pages.formatting import Quantity

_NON_FINITE = {
    MeasureKind.nan: float("nan"),
    MeasureKind.inf: float("inf"),
    MeasureKind.minus_inf: float("-inf"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """One of the few numbers shown where a run is one row or one screen."""

    key: str
    label: str
    rule: str
    statistic: str


HEADLINES = (
    Headline(key="ttft", label="TTFT p50", rule="ttft.first_content.client", statistic="p50"),
    Headline(key="tpot", label="TPOT p50", rule="tpot.last_token", statistic="p50"),
    Headline(key="output", label="Output", rule="throughput.output_tokens", statistic="rate"),
)
# The numbers of a run's first screen, in this order.
FIGURES = (
    HEADLINES[0],
    Headline(key="ttft", label="TTFT p95", rule="ttft.first_content.client", statistic="p95"),
    HEADLINES[1],
    Headline(key="tpot", label="TPOT p95", rule="tpot.last_token", statistic="p95"),
    Headline(key="e2e", label="E2E p50", rule="e2e.client", statistic="p50"),
    HEADLINES[2],
    Headline(key="completed", label="Completed", rule="completion_rate", statistic="ratio"),
    Headline(key="goodput", label="Goodput", rule="goodput.ratio", statistic="ratio"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureLine:
    """A number with its passport. ``quantity`` is None when it is absent, for the stated reason."""

    key: str
    label: str
    rule: str
    statistic: str
    quantity: Quantity | None
    value: float | None
    low: float | None
    high: float | None
    unit: str
    absent: str
    interval: str
    interval_kind: str
    n: int
    of: int
    population: str
    perspective: str
    limited_by: str


def measure_line(measure: Measure, headline: Headline | None = None) -> MeasureLine:
    value = _NON_FINITE.get(MeasureKind(measure.kind), measure.value)
    return MeasureLine(
        key=headline.key if headline else "",
        label=headline.label if headline else f"{measure.rule} {measure.statistic}",
        rule=measure.rule,
        statistic=measure.statistic,
        quantity=None if value is None else _quantity(measure, value),
        value=measure.value,
        low=measure.low,
        high=measure.high,
        unit=measure.unit,
        absent=measure.absent,
        interval=_interval(measure, value),
        interval_kind=measure.interval_kind,
        n=measure.n,
        of=measure.of,
        population=measure.population,
        perspective=measure.perspective,
        limited_by=measure.limited_by,
    )


def missing_line(headline: Headline, reason: str) -> MeasureLine:
    """The line of a headline for which there is no measure at all."""
    return MeasureLine(
        key=headline.key,
        label=headline.label,
        rule=headline.rule,
        statistic=headline.statistic,
        quantity=None,
        value=None,
        low=None,
        high=None,
        unit="",
        absent=reason,
        interval="",
        interval_kind="",
        n=0,
        of=0,
        population="",
        perspective="",
        limited_by="",
    )


def _quantity(measure: Measure, value: float) -> Quantity:
    if measure.statistic == "ratio" and measure.unit == "1":
        return formatting.share(value)
    return formatting.quantity(value, measure.unit)


def _interval(measure: Measure, value: float | None) -> str:
    """``[588, 640]`` in the unit of the value beside it; without a value it names its own unit."""
    if measure.low is None or measure.high is None:
        return ""
    if value is None or not math.isfinite(value):
        texts, unit = formatting.same_scale([measure.low, measure.high], measure.unit)
        return f"[{texts[0]}, {texts[1]}] {unit}"
    factor, _ = formatting.scale_of(abs(value), measure.unit)
    low, high = (formatting.significant(v / factor) for v in (measure.low, measure.high))
    return f"[{low}, {high}]"
