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
    """All columns that ledgers are filtered by, with each ledger's state at the instant beside them."""
    rows = pl.scan_parquet(folder / LEDGER_ROWS).select(_COLUMNS)
    found = pl.scan_parquet(folder / ATTEMPTS)
    for ledger in LEDGERS:
        own = rows.filter(pl.col("ledger") == ledger)
        states = _states(own, at_ns, clock_domain, uncalibrated).rename({"state": ledger + NOW})
        key = "task_id" if ledger == "task" else "attempt_id"
        found = found.join(
            states, left_on=key, right_on="subject", how="left", maintain_order="left"
        )
    wanted = [
        "attempt_id",
        "ghost",
        "ghost_from_ns",
        "ghost_to_ns",
        *(f"{ledger}{NOW}" for ledger in LEDGERS),
    ]
    return found.select(wanted).collect()


def _states(
    rows: pl.LazyFrame, at_ns: int, clock_domain: str, uncalibrated: Collection[str]
) -> pl.LazyFrame:
    """One row a subject: the state that holds, or ``UNCLEAR``."""
    since, dated = at_ns - pl.col("from_ns"), pl.col("from_ns").is_not_null()
    error = pl.when(pl.col("clock_domain") == clock_domain).then(0).otherwise(pl.col("error_ns"))
    open_ = dated & (
        pl.col("clock_domain").is_in(list(uncalibrated))
        | ((error > 0) & (since - error < 0) & (since + error >= 0))
    )
    holds = (pl.col("from_ns").is_null() | (since >= 0)) & (
        pl.col("to_ns").is_null() | (pl.col("to_ns") > at_ns)
    )
    seen = rows.filter(open_ | holds).select(
        "subject", pl.when(open_).then(pl.lit(UNCLEAR)).otherwise("state").alias("state")
    )
    unclear = seen.filter(pl.col("state") == UNCLEAR).unique("subject")
    known = seen.unique("subject", keep="last", maintain_order=True)
    return pl.concat([unclear, known.join(unclear, on="subject", how="anti")])


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
