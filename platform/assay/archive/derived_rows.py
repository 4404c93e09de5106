"""What was read of some attempts, as Arrow batches of the tables that hold it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from assay.analysis.attempt_parts import AttemptParts
from assay.analysis.documents import LedgerRow
from assay.archive.derived_schemas import (
    ABSENT,
    ATTEMPTS,
    BY_ATTEMPT,
    CHECKS,
    COUNTS,
    END,
    GHOST,
    LEDGER_ROWS,
    LEDGERS_SCHEMA,
    READINGS,
    SUBJECT_IDS,
    TEXTS,
    TIMELINE,
    TIMES,
)

# ASCII: a reply may hold half a surrogate pair, which no UTF-8 column takes.
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_IN_COLUMNS = ("chunk_times_ns", "chunk_tokens")


def batches_of(parts: Sequence[AttemptParts]) -> dict[str, pa.RecordBatch]:
    """One batch a table, in the order of the attempts."""
    rows: dict[str, Iterable[Mapping[str, Any]]] = {
        ATTEMPTS: map(_attempt, parts),
        READINGS: map(_reading, parts),
        LEDGER_ROWS: (row for p in parts for row in _ledgers(p)),
        CHECKS: (check for p in parts for check in p.checks),
        TIMELINE: (row for p in parts for row in _intervals(p)),
    }
    return {name: _batch(rows[name], schema) for name, (schema, _) in BY_ATTEMPT.items()}


def task_batch(tasks: Iterable[Sequence[LedgerRow]]) -> pa.RecordBatch:
    """The task ledger's rows, for the ledgers' table."""
    return _batch((ledger_row("task", r) for rows in tasks for r in rows), LEDGERS_SCHEMA)


def ledger_row(ledger: str, row: LedgerRow) -> dict[str, Any]:
    """A ledger row with its ids as columns."""
    return {"ledger": ledger, **row, **{name: row["ids"].get(name) for name in SUBJECT_IDS}}


def _batch(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    held = list(rows)
    columns = [pa.array([row.get(field.name) for row in held], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _attempt(parts: AttemptParts) -> dict[str, Any]:
    """Ids, states, times, counts, every metric or why it is absent, and the end in each ledger. No text."""
    reading, ghost = parts.reading, parts.ghost
    row: dict[str, Any] = {text: reading[text] for text in TEXTS}  # type: ignore[literal-required]
    row |= {f"{t}_ns": reading["timestamps_ns"].get(t) for t in TIMES}
    row |= {c: reading["counts"].get(c) for c in COUNTS}
    for rule, metric in reading["metrics"].items():
        row[rule] = metric.get("value")
        row[f"{ABSENT}{rule}"] = metric.get("absent") or metric.get("special")
    for ledger, rows in (
        ("client", parts.client),
        ("server", parts.server),
        ("resource", parts.resource),
    ):
        row |= {f"{ledger}_end_{name}": rows[-1][name] for name, _ in END}  # type: ignore[literal-required]
    if ghost is not None:
        row |= {f"ghost_{name}": ghost[name] for name, _ in GHOST}  # type: ignore[literal-required]
    return row | {
        "server_state": parts.server[-1]["state"],
        "status": reading["status"],
        "prompt_tokens": reading["prompt_tokens"],
        "cached_tokens": reading["cached_tokens"],
        "late_bytes": reading["late"]["bytes"],
        "clock_domain": reading["clock_domain"],
        "ghost": ghost is not None,
    }


def _reading(parts: AttemptParts) -> dict[str, Any]:
    reading = parts.reading
    return {
        "attempt_id": reading["attempt_id"],
        "reading": _encode({k: v for k, v in reading.items() if k not in _IN_COLUMNS}),
        "chunk_times_ns": reading["chunk_times_ns"],
        "chunk_tokens": reading["chunk_tokens"],
        "lanes": _encode(parts.lanes),
        "ghost": None if parts.ghost is None else _encode(parts.ghost),
    }


def _ledgers(parts: AttemptParts) -> Iterable[dict[str, Any]]:
    yield from (ledger_row("client", row) for row in parts.client)
    yield from (ledger_row("server", row) for row in parts.server)
    yield from (ledger_row("resource", row) for row in parts.resource)


def _intervals(parts: AttemptParts) -> Iterable[dict[str, Any]]:
    reading = parts.reading
    for lane in parts.lanes:
        for interval in lane["intervals"]:
            yield {
                "attempt_id": lane["attempt_id"],
                "segment": reading["segment"],
                "case": reading["case"],
                "perspective": lane["perspective"],
                "clock_domain": lane["clock_domain"],
                **interval,
            }
