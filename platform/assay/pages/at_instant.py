"""The four ledgers of every attempt at one instant, as columns: what filters and counts are taken over.

The same rule as ``assay.analysis.ledgers.at.state_at``, over whole tables: a row holds from its start
(included) to its end (excluded), and a start within the error bound of another clock decides nothing.
"""

from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

import polars as pl

from assay.analysis.documents import LEDGERS
from assay.archive.derived_schemas import ATTEMPTS, LEDGER_ROWS

UNCLEAR = "unclear"  # the error bound, or an uncalibrated clock, leaves the state open
NOW = "_now"  # after a ledger's name: its state at the instant; null where nothing is recorded yet
_COLUMNS = ("ledger", "subject", "state", "from_ns", "to_ns", "clock_domain", "error_ns")


@lru_cache(maxsize=6)
def attempts_at(
    folder: Path, at_ns: int, clock_domain: str, uncalibrated: frozenset[str]
) -> pl.DataFrame:
    """Every attempt in its order, with each ledger's state at the instant and its ghost load's ends."""
    path = folder / LEDGER_ROWS
    placed = _placed(folder, path.stat().st_mtime_ns)
    ends = ["attempt_id", "ghost", "ghost_from_ns", "ghost_to_ns"]
    found = pl.scan_parquet(folder / ATTEMPTS).select(ends).with_row_index("place").collect()
    for ledger in LEDGERS:
        states = _states(placed[ledger], at_ns, clock_domain, uncalibrated)
        found = found.join(
            states.rename({"state": ledger + NOW}), on="place", how="left", maintain_order="left"
        )
    return found.drop("place").with_columns(pl.col(f"{n}{NOW}").cast(pl.String) for n in LEDGERS)


@lru_cache(maxsize=2)
def _placed(folder: Path, _modified_ns: int) -> dict[str, pl.DataFrame]:
    """Each ledger's rows in their order, with the number of the attempt that each is about."""
    rows = pl.scan_parquet(folder / LEDGER_ROWS).select(_COLUMNS)
    attempts = pl.scan_parquet(folder / ATTEMPTS).with_row_index("place")
    found = {}
    for ledger in LEDGERS:
        key = "task_id" if ledger == "task" else "attempt_id"
        places = attempts.select("place", pl.col(key).alias("subject"))
        own = rows.filter(pl.col("ledger") == ledger).join(
            places, on="subject", how="inner", maintain_order="left"
        )
        found[ledger] = (
            own.drop("ledger", "subject")
            .with_columns(pl.col("state", "clock_domain").cast(pl.Categorical))
            .collect()
        )
    return found


def _states(
    rows: pl.DataFrame, at_ns: int, clock_domain: str, uncalibrated: Collection[str]
) -> pl.DataFrame:
    """One row an attempt: the state that holds, or ``UNCLEAR``."""
    since, dated = at_ns - pl.col("from_ns"), pl.col("from_ns").is_not_null()
    error = pl.when(pl.col("clock_domain") == clock_domain).then(0).otherwise(pl.col("error_ns"))
    loose = pl.col("clock_domain").cast(pl.String).is_in(list(uncalibrated))
    near = (error > 0) & (since - error < 0) & (since + error >= 0)
    open_ = dated & (loose | near)
    holds = (pl.col("from_ns").is_null() | (since >= 0)) & (
        pl.col("to_ns").is_null() | (pl.col("to_ns") > at_ns)
    )
    seen = rows.filter(open_ | holds).select(
        "place", pl.col("state").cast(pl.String), open_.alias("open")
    )
    unclear = seen.filter("open").select("place", pl.lit(UNCLEAR).alias("state")).unique("place")
    known = seen.select("place", "state").unique("place", keep="last", maintain_order=True)
    return pl.concat([unclear, known.join(unclear, on="place", how="anti")])


def next_changes(folder: Path, at_ns: int) -> tuple[int | None, int | None]:
    """The last instant before and the first after at which some ledger says something new."""
    start = pl.col("from_ns")
    rows = pl.scan_parquet(folder / LEDGER_ROWS).select(
        start.filter(start < at_ns).max().alias("before"),
        start.filter(start > at_ns).min().alias("after"),
    )
    before, after = rows.collect().row(0)
    return before, after


@lru_cache(maxsize=64)
def extent(folder: Path, _modified_ns: int) -> tuple[int, int] | None:
    """First and last instant that any ledger dates; None where none does."""
    start = pl.col("from_ns")
    rows = pl.scan_parquet(folder / LEDGER_ROWS).select(
        start.min().alias("first"), start.max().alias("last")
    )
    first, last = rows.collect().row(0)
    return None if first is None else (first, last)
