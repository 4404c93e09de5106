"""What was read of some attempts, as Arrow batches of the tables that hold it."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson
import pyarrow as pa

from assay.analysis.attempt_parts import AttemptParts
from assay.analysis.documents import LedgerRow
from assay.analysis.metrics.registry import ATTEMPT_RULES
from assay.archive.derived_schemas import (
    ATTEMPTS,
    BY_ATTEMPT,
    CHECKS,
    CHECKS_SCHEMA,
    COUNTS,
    END,
    GHOST,
    INTERVAL,
    LEDGER_ROWS,
    LEDGERS_SCHEMA,
    READINGS,
    STATE,
    SUBJECT_IDS,
    TEXTS,
    TIMELINE,
    TIMES,
)

# ASCII: a reply may hold half a surrogate pair, which no UTF-8 column takes.
_encode_any = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_IN_COLUMNS = frozenset({"chunk_times_ns", "chunk_tokens"})
_NO_METRIC: dict[str, Any] = {}
_Row = tuple[Any, ...]


def batches_of(parts: Sequence[AttemptParts]) -> dict[str, pa.RecordBatch]:
    """One batch a table, in the order of the attempts."""
    rows: dict[str, Iterable[_Row]] = {
        ATTEMPTS: map(_attempt, parts),
        READINGS: map(_reading, parts),
        LEDGER_ROWS: (row for p in parts for row in _ledgers(p)),
        CHECKS: (tuple(c[n] for n in CHECKS_SCHEMA.names) for p in parts for c in p.checks),  # type: ignore[literal-required]
        TIMELINE: (row for p in parts for row in _intervals(p)),
    }
    return {name: _batch(rows[name], schema) for name, (schema, _) in BY_ATTEMPT.items()}


def task_batch(tasks: Iterable[Sequence[LedgerRow]]) -> pa.RecordBatch:
    """The task ledger's rows, for the ledgers' table."""
    return _batch((_ledger_row("task", r) for rows in tasks for r in rows), LEDGERS_SCHEMA)


def _batch(rows: Iterable[_Row], schema: pa.Schema) -> pa.RecordBatch:
    """``rows`` in the order of the schema's columns."""
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _attempt(parts: AttemptParts) -> _Row:
    """Ids, states, times, counts, every metric or why it is absent, and the end in each ledger. No text.

    In the order of ``ATTEMPTS_BEFORE_TASKS``.
    """
    reading, ghost = parts.reading, parts.ghost
    times, counts, metrics = reading["timestamps_ns"], reading["counts"], reading["metrics"]
    found = [metrics.get(rule, _NO_METRIC) for rule in ATTEMPT_RULES]
    return (
        *[reading[name] for name in TEXTS],  # type: ignore[literal-required]
        parts.server[-1]["state"],
        reading["status"],
        *[times.get(name) for name in TIMES],
        *[counts.get(name) for name in COUNTS],
        reading["prompt_tokens"],
        reading["cached_tokens"],
        reading["late"]["bytes"],
        reading["clock_domain"],
        *[metric.get("value") for metric in found],
        *[metric.get("absent") or metric.get("special") for metric in found],
        *[
            rows[-1][name]  # type: ignore[literal-required]
            for rows in (parts.client, parts.server, parts.resource)
            for name, _ in END
        ],
        ghost is not None,
        *[None if ghost is None else ghost[name] for name, _ in GHOST],  # type: ignore[literal-required]
    )


def _reading(parts: AttemptParts) -> _Row:
    reading = parts.reading
    return (
        reading["attempt_id"],
        _encode({k: v for k, v in reading.items() if k not in _IN_COLUMNS}),
        reading["chunk_times_ns"],
        reading["chunk_tokens"],
        _encode(parts.lanes),
        None if parts.ghost is None else _encode(parts.ghost),
    )


def _encode(document: Any) -> str:
    try:
        return orjson.dumps(document).decode()
    except TypeError:  # half a pair, or a number beyond 64 bits
        return _encode_any(document)


def _ledgers(parts: AttemptParts) -> Iterator[_Row]:
    for row in parts.client:
        yield _ledger_row("client", row)
    for row in parts.server:
        yield _ledger_row("server", row)
    for row in parts.resource:
        yield _ledger_row("resource", row)


def _ledger_row(ledger: str, row: LedgerRow) -> _Row:
    """A ledger row with its ids as columns, in the order of ``LEDGERS_SCHEMA``."""
    ids = row["ids"]
    return (
        ledger,
        row["subject"],
        row["subject_type"],
        *[ids.get(name) for name in SUBJECT_IDS],
        *[row[name] for name, _ in STATE],  # type: ignore[literal-required]
    )


def _intervals(parts: AttemptParts) -> Iterator[_Row]:
    """In the order of ``TIMELINE_SCHEMA``."""
    reading = parts.reading
    for lane in parts.lanes:
        of_lane = (
            lane["attempt_id"],
            reading["segment"],
            reading["case"],
            lane["perspective"],
            lane["clock_domain"],
        )
        for interval in lane["intervals"]:
            yield (*of_lane, *[interval[name] for name, _ in INTERVAL])  # type: ignore[literal-required]
