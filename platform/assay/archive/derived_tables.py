"""Parquet tables beside an interpretation: rows that pages read by group, never whole."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from assay.analysis.documents import AttemptReading, Lane
from assay.analysis.events import EventRecord
from assay.analysis.iterations import IterationLog
from assay.analysis.metrics.registry import ATTEMPT_RULES
from assay.analysis.observed import ObservedStep

ATTEMPTS = "attempts.parquet"
EVENTS = "events.parquet"
ITERATIONS = "iterations.parquet"
TIMELINE = "timeline.parquet"
_BATCH_ROWS = 50_000
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode
_TIMES = (
    "scheduled",
    "created",
    "sent",
    "headers",
    "first_byte",
    "first_content_event",
    "first_visible",
    "last_content",
    "done",
    "ended",
)
_COUNTS = ("token_ids", "usage", "retokenized", "content_chunks", "events")
_TEXTS = (
    "attempt_id",
    "request_id",
    "task_id",
    "session_id",
    "model_call_id",
    "retry_of",
    "segment",
    "case",
    "client_state",
    "failure",
    "finish_reason",
)

ATTEMPTS_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in _TEXTS),
        ("server_state", pa.string()),
        ("status", pa.int32()),
        *((f"{name}_ns", pa.int64()) for name in _TIMES),
        *((name, pa.int64()) for name in _COUNTS),
        ("prompt_tokens", pa.int64()),
        ("cached_tokens", pa.int64()),
        ("late_bytes", pa.int64()),
        *((rule, pa.float64()) for rule in ATTEMPT_RULES),
    ]
)
EVENTS_SCHEMA = pa.schema(
    [
        ("event", pa.string()),
        ("fact", pa.string()),
        ("t_ns", pa.int64()),
        ("clock_domain", pa.string()),
        ("error_ns", pa.int64()),
        ("layer", pa.string()),
        ("perspective", pa.string()),
        ("attempt_id", pa.string()),
        ("value", pa.string()),  # canonical JSON
        ("evidence", pa.string()),
    ]
)
TIMELINE_SCHEMA = pa.schema(
    [
        ("attempt_id", pa.string()),
        ("segment", pa.string()),
        ("case", pa.string()),
        ("perspective", pa.string()),
        ("clock_domain", pa.string()),
        ("name", pa.string()),
        ("start_event", pa.string()),
        ("end_event", pa.string()),
        ("from_ns", pa.int64()),
        ("to_ns", pa.int64()),
        ("on_path", pa.bool_()),
        ("origin", pa.string()),
    ]
)
_STEP_TYPES = {"phase": pa.string(), "segment": pa.string()}
ITERATIONS_SCHEMA = pa.schema(
    [
        *((f.name, _STEP_TYPES.get(f.name, pa.int64())) for f in fields(ObservedStep)),
        ("evidence", pa.string()),
    ]
)


def write_attempts(
    path: Path,
    readings: Sequence[AttemptReading],
    *,
    server_states: dict[str, str],
) -> None:
    """One row an attempt: ids, states, times, counts and every metric (null where absent). No text."""
    rows = []
    for reading in readings:
        name = reading["attempt_id"]
        row: dict[str, Any] = {text: reading[text] for text in _TEXTS}  # type: ignore[literal-required]
        row |= {f"{t}_ns": reading["timestamps_ns"].get(t) for t in _TIMES}
        row |= {c: reading["counts"].get(c) for c in _COUNTS}
        row |= {rule: metric.get("value") for rule, metric in reading["metrics"].items()}
        row |= {
            "server_state": server_states.get(name),
            "status": reading["status"],
            "prompt_tokens": reading["prompt_tokens"],
            "cached_tokens": reading["cached_tokens"],
            "late_bytes": reading["late"]["bytes"],
        }
        rows.append(row)
    _write(path, ATTEMPTS_SCHEMA, rows)


def write_timeline(path: Path, lanes: Sequence[Lane], readings: Sequence[AttemptReading]) -> None:
    """One row an interval of a lane."""
    placed = {r["attempt_id"]: (r["segment"], r["case"]) for r in readings}
    rows = [
        {
            "attempt_id": lane["attempt_id"],
            "segment": placed[lane["attempt_id"]][0],
            "case": placed[lane["attempt_id"]][1],
            "perspective": lane["perspective"],
            "clock_domain": lane["clock_domain"],
            **interval,
        }
        for lane in lanes
        for interval in lane["intervals"]
    ]
    _write(path, TIMELINE_SCHEMA, rows)


def write_iterations(path: Path, log: IterationLog) -> None:
    """One row an iteration of the engine."""
    columns: dict[str, list[Any]] = {
        f.name: [getattr(step, f.name) for step in log.steps] for f in fields(ObservedStep)
    }
    columns["phase"] = [phase.value for phase in columns["phase"]]
    columns["evidence"] = list(log.evidence)
    pq.write_table(
        pa.Table.from_pydict(columns, schema=ITERATIONS_SCHEMA), path, compression="zstd"
    )


def events_through(path: Path, events: Iterable[EventRecord]) -> Iterator[EventRecord]:
    """Pass events on and write each to ``path`` as it passes, in batches."""
    with pq.ParquetWriter(path, EVENTS_SCHEMA, compression="zstd") as writer:
        rows: list[tuple[Any, ...]] = []
        for event in events:
            rows.append(_event_row(event))
            if len(rows) == _BATCH_ROWS:
                _write_batch(writer, rows)
                rows = []
            yield event
        _write_batch(writer, rows)


def _write_batch(writer: pq.ParquetWriter, rows: list[tuple[Any, ...]]) -> None:
    columns = zip(*rows, strict=True) if rows else ([] for _ in EVENTS_SCHEMA.names)
    arrays = [
        pa.array(column, type=field.type)
        for column, field in zip(columns, EVENTS_SCHEMA, strict=True)
    ]
    writer.write_table(pa.Table.from_arrays(arrays, schema=EVENTS_SCHEMA))


def _event_row(event: EventRecord) -> tuple[Any, ...]:
    """In the order of ``EVENTS_SCHEMA``."""
    fact = event.fact
    return (
        event.event,
        fact.value if fact is not None else None,
        event.t_ns,
        event.clock_domain,
        event.error_ns,
        event.layer,
        event.perspective,
        event.attempt_id,
        _encode(event.value) if event.value else None,
        event.evidence,
    )


def _write(path: Path, schema: pa.Schema, rows: list[dict[str, Any]]) -> None:
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path, compression="zstd")
