"""What an engine's own counters and gauges said of a run, as it is written."""

from typing import TypedDict


class CounterCheck(TypedDict):
    """One fact by two witnesses: the engine's record of requests, and its counter, over the same time.

    ``verdict``: agree | within the scrapes' time | explained | unexplained | not counted | not evidenced.
    """

    fact: str
    recorded: float | None
    counted: float | None
    unit: str
    series: str | None
    undecided: int  # recorded while a bounding scrape was being answered
    verdict: str
    words: str


class SeriesReading(TypedDict):
    """One series over the measured phase. Gauges have min, mean and max; a histogram its growth's mean.

    Counters and histograms are differences; ``parts`` are those of a label.
    """

    quantity: str
    series: str | None
    kind: str | None
    unit: str | None
    scrapes: int
    min: float | None
    mean: float | None
    max: float | None
    grown: float | None
    parts: dict[str, float]
    caution: str | None
    reason: str | None


class CounterReading(TypedDict):
    checks: list[CounterCheck]
    series: list[SeriesReading]
