"""The tables beside an interpretation: what each holds, one row of what, in which order.

``attempts`` is flat, for filters, sorts and sums over many attempts. ``readings`` holds each attempt whole,
for the reader of one: its row number is that of ``attempts``. The others have a row per state, interval,
check, event or iteration. Rows of an attempt stand together, attempts in the order in which the client made
them.
"""

from dataclasses import fields

import pyarrow as pa

from assay.analysis.documents import GhostLoad
from assay.analysis.metrics.registry import ATTEMPT_RULES
from assay.analysis.observed import ObservedStep

ATTEMPTS = "attempts.parquet"
READINGS = "readings.parquet"
LEDGER_ROWS = "ledgers.parquet"
TASKS = "tasks.parquet"
CHECKS = "cancel_checks.parquet"
TIMELINE = "timeline.parquet"
EVENTS = "events.parquet"
ITERATIONS = "iterations.parquet"

TIMES = (
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
COUNTS = ("token_ids", "usage", "retokenized", "content_chunks", "events")
TEXTS = (
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
# How an attempt ended in each ledger: the last row of its subject there.
END = (
    ("state", pa.string()),
    ("detail", pa.string()),
    ("from_ns", pa.int64()),
    ("evidence", pa.string()),
)
END_LEDGERS = ("client", "server", "resource")
GHOST = tuple(
    (name, pa.float64() if name == "kv_byte_s" else pa.string() if name == "absent" else pa.int64())
    for name in GhostLoad.__annotations__
    if name != "attempt_id"
)
ABSENT = "absent."  # before a rule: why it has no value
TASK_END_SCHEMA = pa.schema([(f"task_end_{name}", kind) for name, kind in END])

# As it is written batch by batch; the task's end is known, and added, once all attempts are.
ATTEMPTS_BEFORE_TASKS = pa.schema(
    [
        *((name, pa.string()) for name in TEXTS),
        ("server_state", pa.string()),
        ("status", pa.int32()),
        *((f"{name}_ns", pa.int64()) for name in TIMES),
        *((name, pa.int64()) for name in COUNTS),
        ("prompt_tokens", pa.int64()),
        ("cached_tokens", pa.int64()),
        ("late_bytes", pa.int64()),
        ("clock_domain", pa.string()),
        *((rule, pa.float64()) for rule in ATTEMPT_RULES),
        *((f"{ABSENT}{rule}", pa.string()) for rule in ATTEMPT_RULES),
        *((f"{ledger}_end_{name}", kind) for ledger in END_LEDGERS for name, kind in END),
        ("ghost", pa.bool_()),  # whether the client gave up before the server's answer was over
        *((f"ghost_{name}", kind) for name, kind in GHOST),
    ]
)
ATTEMPTS_SCHEMA = pa.schema([*ATTEMPTS_BEFORE_TASKS, *TASK_END_SCHEMA])
READINGS_SCHEMA = pa.schema(
    [
        ("attempt_id", pa.string()),
        ("reading", pa.string()),  # JSON: the attempt's document without the next two
        ("chunk_times_ns", pa.list_(pa.int64())),
        ("chunk_tokens", pa.list_(pa.int64())),
        ("lanes", pa.string()),  # JSON
        ("ghost", pa.string()),  # JSON, or null
    ]
)
TASKS_SCHEMA = pa.schema([("task_id", pa.string()), ("reading", pa.string())])  # JSON
SUBJECT_IDS = ("task_id", "session_id", "request_id", "model_call_id", "attempt_id", "retry_of")
# Of a ledger row, and of an interval of a lane, under its own names.
STATE = (
    ("state", pa.string()),
    ("from_ns", pa.int64()),
    ("to_ns", pa.int64()),
    ("clock_domain", pa.string()),
    ("error_ns", pa.int64()),
    ("evidence", pa.string()),
    ("level", pa.string()),
    ("detail", pa.string()),
)
INTERVAL = (
    ("name", pa.string()),
    ("start_event", pa.string()),
    ("end_event", pa.string()),
    ("from_ns", pa.int64()),
    ("to_ns", pa.int64()),
    ("on_path", pa.bool_()),
    ("origin", pa.string()),
)
LEDGERS_SCHEMA = pa.schema(
    [
        ("ledger", pa.string()),
        ("subject", pa.string()),
        ("subject_type", pa.string()),
        *((name, pa.string()) for name in SUBJECT_IDS),
        *STATE,
    ]
)
CHECKS_SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("attempt_id", "check", "result", "value", "evidence")]
)
TIMELINE_SCHEMA = pa.schema(
    [
        ("attempt_id", pa.string()),
        ("segment", pa.string()),
        ("case", pa.string()),
        ("perspective", pa.string()),
        ("clock_domain", pa.string()),
        *INTERVAL,
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
_STEP_TYPES = {"phase": pa.string(), "segment": pa.string()}
ITERATIONS_SCHEMA = pa.schema(
    [
        *((f.name, _STEP_TYPES.get(f.name, pa.int64())) for f in fields(ObservedStep)),
        ("evidence", pa.string()),
    ]
)
# What is written for each attempt, and how many rows of it make a row group. A reading is looked up alone.
BY_ATTEMPT: dict[str, tuple[pa.Schema, int]] = {
    ATTEMPTS: (ATTEMPTS_BEFORE_TASKS, 2_048),
    READINGS: (READINGS_SCHEMA, 256),
    LEDGER_ROWS: (LEDGERS_SCHEMA, 8_192),
    CHECKS: (CHECKS_SCHEMA, 8_192),
    TIMELINE: (TIMELINE_SCHEMA, 8_192),
}
