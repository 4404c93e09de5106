"""An engine's series over the measured phase: gauges by their readings, counters by what they grew."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean

from assay.analysis.counters.checks import Grown, Values
from assay.analysis.counters.documents import SeriesReading
from runners.protocol.series import Kind, Quantity, Series, SeriesMap


@dataclass(frozen=True, slots=True, kw_only=True)
class Scraped:
    """One scrape of the measured phase, from the run's origin."""

    t_ns: int
    values: Values


def series_readings(
    scraped: Sequence[Scraped], known: SeriesMap, *, before: Scraped | None
) -> list[SeriesReading]:
    """Every quantity of the vocabulary that the map speaks of, in its order.

    ``before`` is the last scrape ahead of the phase, from which counters grew; None: its first one.
    """
    return [
        _reading(quantity, known[quantity], scraped, before or (scraped[0] if scraped else None))
        for quantity in Quantity
        if quantity in known
    ]


def _reading(
    quantity: Quantity,
    series: Series | None,
    scraped: Sequence[Scraped],
    before: Scraped | None,
) -> SeriesReading:
    found = SeriesReading(
        quantity=quantity.value,
        series=None if series is None else series.name,
        kind=None if series is None else series.kind.value,
        unit=None if series is None else series.unit,
        scrapes=len(scraped),
        min=None,
        mean=None,
        max=None,
        grown=None,
        parts={},
        caution=None if series is None else series.caution,
        reason=None,
    )
    if series is None:
        found["reason"] = "the engine has no such series"
    elif not scraped or before is None:
        found["reason"] = "no scrape of the measured phase"
    elif series.kind is Kind.gauge:
        _gauge(found, quantity, scraped)
    else:
        _counter(found, series, Grown(first=before.values, last=scraped[-1].values).of(quantity))
    return found


def _gauge(found: SeriesReading, quantity: Quantity, scraped: Sequence[Scraped]) -> None:
    values = list(_sums(quantity, scraped))
    if not values:
        found["reason"] = "no scrape holds it: of a gauge that is unknown, not 0"
        return
    found["min"], found["mean"], found["max"] = min(values), mean(values), max(values)


def _sums(quantity: Quantity, scraped: Sequence[Scraped]) -> Iterator[float]:
    for one in scraped:
        if parts := one.values.get(quantity):
            yield sum(parts.values())


def _counter(found: SeriesReading, series: Series, grown: dict[str, float]) -> None:
    if series.kind is Kind.histogram:
        count = grown.get("count", 0.0)
        found["grown"] = count
        if count:
            found["mean"] = grown.get("sum", 0.0) / count
        else:
            found["reason"] = "no observation in the measured phase"
        return
    found["grown"] = sum(grown.values())
    found["parts"] = grown if series.label else {}
