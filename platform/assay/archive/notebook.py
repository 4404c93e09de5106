"""A sealed bundle and its reading for notebooks: read-only Polars frames, each column with its unit.

``open_bundle(DIGEST)`` finds it in the home, ``open_bundle(FOLDER)`` takes any bundle folder and reads it if
it has no reading yet. Frames are copies: changing one changes nothing in the archive. Times are nanoseconds
from the run's origin, in the clock domain that stands beside them; what is not known is null, with its
reason in a column ``absent``.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from assay.analysis.documents import LEDGERS, RunReading
from assay.analysis.metrics.registry import ATTEMPT_RULES
from assay.archive import store
from assay.archive.derived_schemas import (
    ABSENT,
    ATTEMPTS,
    EVENTS,
    ITERATIONS,
    LEDGER_ROWS,
    READINGS,
)
from assay.archive.errors import ArchiveError
from assay.archive.interpretation import interpret
from assay.archive.paths import Home, home_from_environment
from assay.archive.readers import Bundle
from assay.archive.stored_reading import StoredReading
from runners.protocol import layout, tables

_NS = "ns"
_UNITS = {
    "prompt_tokens": "token",
    "cached_tokens": "token",
    "token_ids": "token",
    "usage": "token",
    "retokenized": "token",
    "tokens": "token",
    "late_bytes": "byte",
    "rss_bytes": "byte",
    "value": "as the column unit says",
    "low": "as the column unit says",
    "high": "as the column unit says",
    "predicted": "as the column unit says",
    "bound": "as the column unit says",
    "measured": "as the column unit says",
    "relative": "1",
    "ghost_kv_byte_s": "byte*s",
}


@dataclass(frozen=True)
class OpenBundle:
    """One bundle with one reading of it."""

    bundle: Bundle
    reading: StoredReading

    @property
    def digest(self) -> str:
        return self.bundle.digest

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The declaration as it was frozen."""
        return self.bundle.document(layout.SPEC) or {}

    @cached_property
    def run(self) -> RunReading:
        """What was read of the run as a whole, as ``assay interpret`` prints it."""
        return self.reading.run()

    @property
    def definition_version(self) -> str:
        return str(self.run["definition_version"])

    def attempts(self) -> pl.DataFrame:
        """A row an attempt: ids, how it ended, instants, counts, every rule and why it has none."""
        return self._derived(ATTEMPTS)

    def chunks(self) -> pl.DataFrame:
        """A row a content event of a reply, numbered; ``tokens`` null: not known."""
        rows = self._derived(READINGS).select("attempt_id", "chunk_times_ns", "chunk_tokens")
        numbered = rows.with_columns(number=pl.int_ranges(pl.col("chunk_times_ns").list.len()))
        found = numbered.explode("chunk_times_ns", "chunk_tokens", "number")
        return found.drop_nulls("chunk_times_ns").select(
            "attempt_id",
            "number",
            t_ns=pl.col("chunk_times_ns"),
            tokens=pl.col("chunk_tokens"),
        )

    def ledgers(self, *names: str) -> pl.DataFrame:
        """Rows of the four ledgers, or of those named, in the order of their subjects."""
        if unknown := sorted(set(names) - set(LEDGERS)):
            raise ArchiveError(f"ledgers: {unknown[0]} (allowed: {', '.join(LEDGERS)}). Name one")
        rows = self._derived(LEDGER_ROWS)
        return rows.filter(pl.col("ledger").is_in(list(names))) if names else rows

    def metrics(self) -> pl.DataFrame:
        """A row an aggregate: rule, statistic, value, interval, unit, population, n of how many."""
        return _frame(_flat(row) for row in self.run["aggregates"])

    def residuals(self) -> pl.DataFrame:
        """A row a predicted quantity: bound, prediction with its range, what was measured, and the class."""
        return _frame(_flat(row) for row in self.run.get("residuals") or [])

    def gaps(self) -> pl.DataFrame:
        """What was not observed, what it affects, and what would close it."""
        return _frame(dict(row) for row in self.run["gaps"])

    def telemetry(self) -> pl.DataFrame:
        """Readings of host and processes: subject, metric, value and unit."""
        return self._captured(layout.TELEMETRY, tables.TELEMETRY)

    def scrapes(self) -> pl.DataFrame:
        """What the engine's metrics endpoint answered, as it answered: ``body`` is its text."""
        return self._captured(layout.SCRAPES, tables.SCRAPES)

    def plan(self) -> pl.DataFrame:
        """What was meant to be sent; ``offset_ns`` counts from the start of its segment."""
        return self._captured(layout.PLAN, tables.PLAN)

    def events(self) -> pl.DataFrame:
        """The engine's own events, each with where it is seen and how far off its time may be."""
        return self._derived(EVENTS)

    def iterations(self) -> pl.DataFrame:
        """Steps of the model loop, where the engine records them."""
        return self._derived(ITERATIONS)

    def _derived(self, name: str) -> pl.DataFrame:
        rows = self.reading.table(name)
        return pl.DataFrame() if rows is None else rows.collect()

    def _captured(self, name: str, schema: Any) -> pl.DataFrame:
        """A table of the bundle with its times from the run's origin; no rows where it has none."""
        path = self.bundle.folder / name
        if not path.is_file():
            empty = pl.from_arrow(schema.empty_table())
            assert isinstance(empty, pl.DataFrame)
            return empty
        rows = pl.read_parquet(path)
        if "t_ns" not in rows.columns:
            return rows
        return rows.with_columns(pl.col("t_ns") - self.bundle.origin_ns)


def open_bundle(what: str | Path, *, home: Path | None = None) -> OpenBundle:
    """The bundle of a digest (or its beginning) in the home, or of a folder. Raises ArchiveError.

    A bundle without a reading is read now: in the home the reading is kept beside the others, for a folder
    elsewhere it goes into a temporary place.
    """
    root = Home(home) if home is not None else home_from_environment()
    folder = Path(what)
    stored = not (folder / layout.MANIFEST).is_file()
    if stored:
        folder = store.get(root, str(what).lower())
    bundle = Bundle(folder)
    return OpenBundle(bundle, _newest(bundle, root) or _read_now(bundle, root, stored=stored))


def units(frame: pl.DataFrame) -> dict[str, str]:
    """The unit of each column that has one: by rule for metrics, by name for times, counts and bytes."""
    found = {}
    for column in frame.columns:
        rule = ATTEMPT_RULES.get(column)
        unit = rule.unit if rule else _NS if column.endswith("_ns") else _UNITS.get(column)
        if unit is not None and not column.startswith(ABSENT):
            found[column] = unit
    return found


def _newest(bundle: Bundle, home: Home) -> StoredReading | None:
    folder = home.derived / bundle.digest
    versions = folder.iterdir() if folder.is_dir() else ()
    found = [one for path in versions if (one := StoredReading(path)).present]
    return max(found, key=lambda one: one.folder.stat().st_mtime, default=None)


def _read_now(bundle: Bundle, home: Home, *, stored: bool) -> StoredReading:
    root = home.derived if stored else Path(tempfile.mkdtemp(prefix="assay-reading-"))
    return StoredReading(interpret(bundle.folder, root).parent)


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Intervals as two columns; conditions as one text, so that rows of different ones fit one frame."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if name in ("interval", "range"):
            low, high = value or (None, None)
            flat |= {"low": low, "high": high}
        elif isinstance(value, Mapping):
            flat[name] = ", ".join(f"{key}={item}" for key, item in value.items())
        elif isinstance(value, Sequence) and not isinstance(value, str):
            flat[name] = list(value)
        else:
            flat[name] = value
    return flat


def _frame(rows: Any) -> pl.DataFrame:
    return (
        pl.from_dicts(list(rows), infer_schema_length=None)
        if (rows := list(rows))
        else pl.DataFrame()
    )
