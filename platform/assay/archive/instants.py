"""The four ledgers of a run at one instant, for all its attempts or for some of them.

The rows of the asked attempts are read, and no others.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from assay.analysis.absence import Absent
from assay.analysis.clocks import Instant
from assay.analysis.documents import LEDGERS, LedgerRow
from assay.analysis.ledgers.joined_at import AttemptAt, ledgers_at
from assay.archive.derived_schemas import ATTEMPTS, LEDGER_ROWS
from assay.archive.stored_reading import StoredReading

NAMED = ("state", "detail", "from_ns", "to_ns", "evidence", "level")


def at_instant(
    reading: StoredReading, at_ns: int, *, first: int = 0, count: int | None = None
) -> dict[str, Any]:
    """Attempts in the client's order, from ``first`` on, each with the state that holds in each ledger.

    An unknown state is null beside its reason.
    """
    domain = _client_domain(reading)
    run_reading = reading.run()
    observed = run_reading.get("observed") or {}  # a reading of an early definition has none
    attempts = ledgers_at(
        _rows(reading, first, count),
        Instant(t_ns=at_ns, clock_domain=domain, error_ns=0),
        uncalibrated=observed.get("uncalibrated_domains", ()),
    )
    return {
        "at_ns": at_ns,
        "clock_domain": domain,
        "definition_version": run_reading["definition_version"],
        "attempts": [_attempt(attempt) for attempt in attempts],
    }


def _client_domain(reading: StoredReading) -> str:
    rows = reading.table(LEDGER_ROWS)
    if rows is None:
        return "several"
    own = rows.filter(pl.col("ledger") == "client").select(pl.col("clock_domain").unique())
    domains = own.collect()["clock_domain"].to_list()
    return domains[0] if len(domains) == 1 else "several"


def _rows(
    reading: StoredReading, first: int, count: int | None
) -> Mapping[str, Sequence[LedgerRow]]:
    """Ledger -> rows of these attempts, and of their tasks."""
    attempts = reading.table(ATTEMPTS)
    if attempts is None:
        return dict.fromkeys(LEDGERS, ())
    asked = attempts.select("attempt_id", "task_id").slice(first, count).collect()
    return reading.rows_of_subjects({*asked["attempt_id"], *asked["task_id"].drop_nulls()})


def _attempt(at: AttemptAt) -> dict[str, Any]:
    states = {"client": at.client, "server": at.server, "task": at.task, "resource": at.resource}
    return {
        "attempt_id": at.attempt_id,
        "ids": dict(at.ids),
        **{name: None if isinstance(row, Absent) else _row(row) for name, row in states.items()},
        "absent": {name: row.reason for name, row in states.items() if isinstance(row, Absent)},
    }


def _row(row: LedgerRow) -> dict[str, Any]:
    return {name: row[name] for name in NAMED}  # type: ignore[literal-required]
