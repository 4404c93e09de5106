"""What was read of some attempts, as Arrow batches of the tables that hold it."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson
import pyarrow as pa

from assay.analysis.attempt_parts import AttemptParts
from assay.analysis.documents import AttemptReading, CancelCheck, LedgerRow, MetricValue
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
_IN_COLUMNS = ("chunk_times_ns", "chunk_tokens")
_NO_METRIC: MetricValue = {}
_Column = Sequence[Any]


def batches_of(parts: Sequence[AttemptParts]) -> dict[str, pa.RecordBatch]:
    """One batch a table, in the order of the attempts."""
    columns: dict[str, Iterable[_Column]] = {
        ATTEMPTS: _attempts(parts),
        READINGS: _readings(parts),
        LEDGER_ROWS: _ledgers([pair for p in parts for pair in _ledger_rows(p)]),
        CHECKS: _checks([check for p in parts for check in p.checks]),
        TIMELINE: _timeline(parts),
    }
    return {name: _batch(columns[name], schema) for name, (schema, _) in BY_ATTEMPT.items()}


def task_batch(tasks: Iterable[Sequence[LedgerRow]]) -> pa.RecordBatch:
    """The task ledger's rows, for the ledgers' table."""
    return _batch(_ledgers([("task", row) for rows in tasks for row in rows]), LEDGERS_SCHEMA)


def _batch(columns: Iterable[_Column], schema: pa.Schema) -> pa.RecordBatch:
    """``columns`` in the order of the schema's. A row at a time would take three times as long."""
    arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _attempts(parts: Sequence[AttemptParts]) -> Iterator[_Column]:
    """Ids, states, times, counts, every metric or why it is absent, and the end in each ledger. No text.

    In the order of ``ATTEMPTS_BEFORE_TASKS``.
    """
    readings = [p.reading for p in parts]
    yield from _members(readings, TEXTS)
    yield [p.server[-1]["state"] for p in parts]
    yield [reading["status"] for reading in readings]
    times, counts = ([r[name] for r in readings] for name in ("timestamps_ns", "counts"))
    for name in TIMES:
        yield [known.get(name) for known in times]
    for name in COUNTS:
        yield [known.get(name) for known in counts]
    yield from _members(readings, ("prompt_tokens", "cached_tokens"))
    yield [reading["late"]["bytes"] for reading in readings]
    yield [reading["clock_domain"] for reading in readings]
    metrics = [
        [reading["metrics"].get(rule, _NO_METRIC) for reading in readings] for rule in ATTEMPT_RULES
    ]
    yield from ([metric.get("value") for metric in of_rule] for of_rule in metrics)
    yield from (
        [metric.get("absent") or metric.get("special") for metric in of_rule] for of_rule in metrics
    )
    for rows in ([p.client for p in parts], [p.server for p in parts], [p.resource for p in parts]):
        yield from _members([own[-1] for own in rows], [name for name, _ in END])
    ghosts = [p.ghost for p in parts]
    yield [ghost is not None for ghost in ghosts]
    for name, _ in GHOST:
        yield [None if ghost is None else ghost[name] for ghost in ghosts]  # type: ignore[literal-required]


def _members(documents: Sequence[Any], names: Iterable[str]) -> Iterator[_Column]:
    """Of each name what the documents hold under it."""
    for name in names:
        yield [document[name] for document in documents]


def _readings(parts: Sequence[AttemptParts]) -> Iterator[_Column]:
    """In the order of ``READINGS_SCHEMA``."""
    readings = [p.reading for p in parts]
    yield [reading["attempt_id"] for reading in readings]
    yield [_encode(_without_columns(reading)) for reading in readings]
    yield from _members(readings, _IN_COLUMNS)
    yield [_encode(p.lanes) for p in parts]
    yield [None if p.ghost is None else _encode(p.ghost) for p in parts]


def _without_columns(reading: AttemptReading) -> dict[str, Any]:
    document: dict[str, Any] = {**reading}
    for name in _IN_COLUMNS:
        del document[name]
    return document


def _encode(document: Any) -> str:
    try:
        return orjson.dumps(document).decode()
    except TypeError:  # half a pair, or a number beyond 64 bits
        return _encode_any(document)


def _ledger_rows(parts: AttemptParts) -> Iterator[tuple[str, LedgerRow]]:
    """Each row with the name of its ledger."""
    for ledger, rows in (
        ("client", parts.client),
        ("server", parts.server),
        ("resource", parts.resource),
    ):
        for row in rows:
            yield ledger, row


def _ledgers(named: Sequence[tuple[str, LedgerRow]]) -> Iterator[_Column]:
    """Ledger rows with their ids as columns, in the order of ``LEDGERS_SCHEMA``."""
    rows = [row for _, row in named]
    yield [ledger for ledger, _ in named]
    yield from _members(rows, ("subject", "subject_type"))
    ids = [row["ids"] for row in rows]
    for name in SUBJECT_IDS:
        yield [known.get(name) for known in ids]
    yield from _members(rows, [name for name, _ in STATE])


def _checks(checks: Sequence[CancelCheck]) -> Iterator[_Column]:
    return _members(checks, CHECKS_SCHEMA.names)


def _timeline(parts: Sequence[AttemptParts]) -> Iterator[_Column]:
    """A row an interval, in the order of ``TIMELINE_SCHEMA``."""
    lanes = [(p.reading, lane) for p in parts for lane in p.lanes]
    owners = [(reading, lane) for reading, lane in lanes for _ in lane["intervals"]]
    yield [lane["attempt_id"] for _, lane in owners]
    yield [reading["segment"] for reading, _ in owners]
    yield [reading["case"] for reading, _ in owners]
    yield [lane["perspective"] for _, lane in owners]
    yield [lane["clock_domain"] for _, lane in owners]
    intervals = [interval for _, lane in lanes for interval in lane["intervals"]]
    yield from _members(intervals, [name for name, _ in INTERVAL])
