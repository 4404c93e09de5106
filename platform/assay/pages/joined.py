"""Attempts with their four ledgers joined by id: one row an attempt, each ledger in a column of its own.

Rows stay in their table until they are shown: filters, sorts and counts are expressions over its columns.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import polars as pl

from assay.analysis.documents import GhostLoad, LedgerRow
from assay.analysis.metrics.registry import ATTEMPT_RULES
from assay.archive.derived_schemas import ABSENT, ATTEMPTS, ATTEMPTS_SCHEMA, GHOST
from assay.pages.reading import Reading

# What the server may have recorded when the client saw this; anything else is a disagreement.
AGREEING: dict[str, str] = {
    "completed": "completed",
    "cancelled": "cancelled",
    "timeout": "cancelled",
    "failed": "failed",
    "rejected": "rejected",
}
_SERVER = pl.col("server_end_state")
_EXPECTED = pl.col("client_end_state").replace_strict(
    AGREEING, default=None, return_dtype=pl.String
)
# Client and server recorded different ends. No server record is a gap, not a disagreement.
DISAGREES = (
    _SERVER.is_not_null() & (_SERVER != "undetermined") & _SERVER.ne_missing(_EXPECTED)
).fill_null(value=False)
HAS_GHOST = pl.col("ghost") & (pl.col("ghost_total_ns").fill_null(0) != 0)
UNFINALISED = pl.col("client_end_state") == "unfinalised"
# Some ledger of it holds no evidence.
UNKNOWN = pl.any_horizontal(
    pl.col(f"{ledger}_end_state").is_null()
    | pl.col(f"{ledger}_end_state").is_in(["undetermined", "unknown"])
    for ledger in ("server", "task", "resource")
)
OUTPUT_TOKENS = pl.coalesce("token_ids", "usage")


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The last state of a subject in one ledger; ``detail`` is the release level or the reason."""

    state: str
    detail: str
    from_ns: int | None
    evidence: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedAttempt:
    """One attempt. Durations in seconds, None beside a reason in ``absent``."""

    attempt_id: str
    task_id: str | None
    segment: str
    case: str
    client: End
    server: End | None
    task: End | None
    resource: End | None
    ghost: GhostLoad | None
    sent_ns: int | None
    prompt_tokens: int | None
    output_tokens: int | None
    metrics: dict[str, float | None]
    absent: dict[str, str]
    disagrees: bool


def attempts_table(reading: Reading) -> pl.LazyFrame:
    """All attempts in the order in which the client made them; no rows when they are not on this machine."""
    path = reading.table(ATTEMPTS)
    if path is None:
        return pl.DataFrame(ATTEMPTS_SCHEMA.empty_table()).lazy()
    return pl.scan_parquet(path)


def attempts_numbered(reading: Reading, numbers: Sequence[int]) -> pl.LazyFrame:
    """These attempts by their row numbers, in the order given; only their row groups are read."""
    return reading.stored.numbered(ATTEMPTS, numbers).lazy()


def joined(rows: pl.LazyFrame, rules: Sequence[str] = ()) -> list[JoinedAttempt]:
    """These rows as objects, with the values of ``rules``."""
    known = [rule for rule in rules if rule in ATTEMPT_RULES]
    found = rows.with_columns(DISAGREES.alias("disagrees"), OUTPUT_TOKENS.alias("output_tokens"))
    return [_joined(row, known) for row in found.collect().iter_rows(named=True)]


def _joined(row: Mapping[str, Any], rules: Iterable[str]) -> JoinedAttempt:
    ghost = {name: row[f"ghost_{name}"] for name, _ in GHOST} if row["ghost"] else None
    return JoinedAttempt(
        attempt_id=row["attempt_id"],
        task_id=row["task_id"],
        segment=row["segment"] or "",
        case=row["case"] or "",
        client=_end(row, "client")
        or End(state=row["client_state"], detail=row["failure"] or "", from_ns=None, evidence=None),
        server=_end(row, "server"),
        task=_end(row, "task"),
        resource=_end(row, "resource"),
        ghost=cast("GhostLoad | None", ghost and {"attempt_id": row["attempt_id"], **ghost}),
        sent_ns=row["sent_ns"],
        prompt_tokens=row["prompt_tokens"],
        output_tokens=row["output_tokens"],
        metrics={rule: row.get(rule) for rule in rules},
        absent={rule: row.get(f"{ABSENT}{rule}") or "" for rule in rules},
        disagrees=row["disagrees"],
    )


def _end(row: Mapping[str, Any], ledger: str) -> End | None:
    if row[f"{ledger}_end_state"] is None:
        return None
    return End(
        state=row[f"{ledger}_end_state"],
        detail=row[f"{ledger}_end_detail"] or "",
        from_ns=row[f"{ledger}_end_from_ns"],
        evidence=row[f"{ledger}_end_evidence"],
    )


def in_time_order(rows: Iterable[LedgerRow]) -> list[LedgerRow]:
    """Undated rows stand first, as earlier knowledge."""
    return sorted(rows, key=lambda r: (r["from_ns"] is not None, r["from_ns"] or 0))
