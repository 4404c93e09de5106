"""From a bundle's scrapes, and the map of series that its adapter left, to what the counters said."""

from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from assay.analysis.counters.checks import Grown, counter_checks
from assay.analysis.counters.documents import CounterReading, SeriesReading
from assay.analysis.counters.recorded_counts import Bounds, RecordedCounts, prefill_tokens
from assay.analysis.counters.series_readings import Scraped, series_readings
from assay.analysis.iterations import IterationLog
from assay.analysis.observed import CountedStep, ObservedStep
from assay.analysis.resources.readings import Window
from assay.archive.parquet_columns import read_columns
from assay.archive.readers import Bundle
from runners.protocol import layout
from runners.protocol.series import Quantity, SeriesMap, of_document, read_all

MOST_PARSED = (
    200  # of the measured phase, evenly spread: a scrape of an hour's run says little more
)
_OK = 200


class CounterSource:
    """Reads a bundle's scrapes; bounds are asked for before the events, the reading after them."""

    def __init__(self, source: Bundle) -> None:
        self._source = source
        found = (source.document(layout.SERIES) or {}).get("series")
        self._known: SeriesMap | None = of_document(found) if isinstance(found, dict) else None

    @cached_property
    def _table(self) -> pa.Table | None:
        """The scrapes that were answered; None where no map says what they hold."""
        path = self._source.folder / layout.SCRAPES
        if self._known is None or not path.is_file():
            return None
        table = read_columns(path, ("t_ns", "duration_ns", "status", "body"))
        return table.filter(pc.equal(table["status"], _OK)).sort_by("t_ns")

    def bounds(self) -> Bounds | None:
        """The first and the last scrape; None with fewer than two."""
        table = self._table
        if table is None or table.num_rows < 2:
            return None
        return Bounds(first_ns=self._span(0), last_ns=self._span(table.num_rows - 1))

    def reading(
        self, recorded: RecordedCounts, iterations: IterationLog, steady: Window | None
    ) -> CounterReading | None:
        if self._known is None:
            return None
        bounds = recorded.bounds
        steps: list[ObservedStep | CountedStep] = [*iterations.steps]
        steps += [step for step, _ in iterations.counted]
        grown = None
        if bounds is not None and self._table is not None:
            grown = Grown(first=self._values(0), last=self._values(self._table.num_rows - 1))
        tokens = prefill_tokens(steps, bounds) if bounds is not None and steps else None
        return CounterReading(
            checks=counter_checks(recorded, grown, self._known, prompt_tokens=tokens),
            series=self._series(steady, self._known),
        )

    def _rows(self, steady: Window | None) -> list[int]:
        """Scrapes of the measured phase."""
        if self._table is None or steady is None:
            return []
        every = range(self._table.num_rows)
        return [row for row in every if steady.holds(self._span(row)[0])]

    def _scraped(self, row: int) -> Scraped:
        return Scraped(t_ns=self._span(row)[0], values=self._values(row))

    def _series(self, steady: Window | None, known: SeriesMap) -> list[SeriesReading]:
        own = self._rows(steady)
        step = max(1, -(-len(own) // MOST_PARSED))
        picked = sorted({*own[::step], *own[-1:]})
        before = self._scraped(own[0] - 1) if own and own[0] else None
        return series_readings([self._scraped(row) for row in picked], known, before=before)

    def _span(self, row: int) -> tuple[int, int]:
        assert self._table is not None
        start = self._table["t_ns"][row].as_py() - self._source.origin_ns
        return start, start + (self._table["duration_ns"][row].as_py() or 0)

    def _values(self, row: int) -> dict[Quantity, dict[str, float]]:
        assert self._table is not None
        assert self._known is not None
        return read_all(self._table["body"][row].as_py() or "", self._known)
