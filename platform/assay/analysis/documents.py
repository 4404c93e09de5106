"""The shape of an interpretation: what the CLI prints, the API serves and the pages show.

Absent values are null with a reason. Times are ns in the clock domain of their row; in a bundle's document
and its derived tables they count from the run's origin (``origins_ns``), so that they stay below 2**53.
"""

from typing import Any, TypedDict

from assay.analysis.counters.documents import CounterReading
from assay.analysis.dependencies import DependencyAccount
from assay.analysis.memory_layers import LayerReading
from assay.analysis.residual.state_columns import StateColumns
from assay.analysis.resources.documents import ResourceReading
from assay.analysis.task_documents import TaskReading, WorkloadReading
from assay.analysis.token_counts import CountDisagreement
from runners.protocol.documents import Gap, IdentityItem


class MetricValue(TypedDict, total=False):
    """One metric of one attempt. ``special`` is nan | inf | -inf when the value is not finite."""

    value: float | int | None
    unit: str
    absent: str | None
    special: str


class AttemptReading(TypedDict):
    attempt_id: str
    request_id: str | None
    task_id: str | None
    session_id: str | None
    model_call_id: str | None
    retry_of: str | None
    segment: str | None
    case: str | None
    client_state: str
    failure: str | None
    timestamps_ns: dict[str, int | None]
    counts: dict[str, int | None]
    disagreements: list[CountDisagreement]  # of the token counts, pair by pair
    usage_form: str | None  # late | cumulative | per_chunk; None: the server sent no usage
    dialect: str | None  # of the reply; None: no payload showed one
    dialect_by: str | None  # declared | recognised
    response_headers: dict[str, str]  # those that say who answered and how the body was wrapped
    prompt_tokens: int | None
    cached_tokens: int | None
    text: str
    reasoning_text: str
    tool_calls: list[dict[str, str | None]]
    finish_reason: str | None
    chunk_times_ns: list[int]
    chunk_tokens: list[int | None]
    metrics: dict[str, MetricValue]
    classes: dict[str, int]  # events by content class; an event may be in several
    choices: list[dict[str, str | int | None]]  # only when the reply had more than one
    refusal_text: str
    late: dict[str, int]  # what arrived after the client had given up: bytes, content_chunks
    status: int | None
    clock_domain: str
    absent: dict[str, str]  # null field -> why


class Aggregate(TypedDict, total=False):
    rule: str
    statistic: str
    value: float | None
    special: str
    unit: str
    interval: list[float] | None
    interval_kind: str | None
    percentile_rule: str | None
    n: int
    of: int
    population: str
    denominator: str
    perspective: str
    clock_domain: str
    limited_by: str
    absent: str | None
    window_ns: list[int]


class LedgerRow(TypedDict):
    subject: str
    subject_type: str
    ids: dict[str, str | None]
    state: str
    from_ns: int | None
    to_ns: int | None
    clock_domain: str
    error_ns: int
    evidence: str | None  # "file:line" into the bundle, or null
    level: str
    detail: str | None  # for resources: the release level; for others: why


class Ledgers(TypedDict):
    client: list[LedgerRow]
    server: list[LedgerRow]
    task: list[LedgerRow]
    resource: list[LedgerRow]


LEDGERS = tuple(Ledgers.__annotations__)


class Reconciliation(TypedDict):
    offered: int
    created: int
    sent: int
    received: int | None
    completed: int
    failed: int
    timeout: int
    cancelled: int
    rejected: int
    unfinalised: int
    differences: list[str]  # each difference explained, or "unexplained: ..."


class Interval(TypedDict):
    """One interval of a lane; ``origin`` is measured | derived | simulated | unknown."""

    name: str
    start_event: str
    end_event: str
    from_ns: int
    to_ns: int
    on_path: bool
    origin: str


class Lane(TypedDict):
    """The intervals of one attempt in one clock domain, with the sum cross-check."""

    attempt_id: str
    perspective: str
    clock_domain: str
    intervals: list[Interval]
    sum_ns: int | None
    end_minus_start_ns: int | None
    cross_check: bool | None
    rejected: list[str]  # overlapping or nested intervals left out of the sum


class GhostLoad(TypedDict):
    """Server time after the client gave up, split by evidence; null parts are unknown."""

    attempt_id: str
    from_ns: int
    to_ns: int | None
    total_ns: int | None
    computing_ns: int | None
    queueing_ns: int | None
    holding_ns: int | None
    kv_byte_s: float | None
    error_ns: int | None  # half-width of the window's length when it spans two clock domains
    absent: str | None


class CancelCheck(TypedDict):
    """The five checks of a cancellation and the release level reached."""

    attempt_id: str
    check: str
    result: str  # "held" | "not held" | "not evidenced"
    value: str | None
    evidence: str | None


class ResidualRow(TypedDict):
    quantity: str
    conditions: dict[str, Any]
    predicted: float | None
    range: list[float] | None
    bound: float | None
    measured: float | None
    unit: str
    layer: str
    relative: float | None
    class_: str  # written as "class" in JSON
    validity: str
    reason: str | None
    overturned_by: str


class GradeDocument(TypedDict):
    """How far the client's own figures can be trusted: a letter, and why it is not an A."""

    letter: str
    reasons: list[str]


class RunReading(TypedDict):
    """What is said of a run as a whole; its size does not grow with the number of attempts."""

    definition_version: str
    bundle_digest: str | None
    aggregates: list[Aggregate]
    reconciliation: Reconciliation
    grade: GradeDocument
    identity: list[IdentityItem]
    residuals: list[dict[str, Any]]
    state_columns: list[StateColumns]  # of the KV cache; empty where no size was registered
    gaps: list[Gap]
    dependencies: list[DependencyAccount]  # each external dependency on its own
    stream_pace: dict[
        str, int
    ]  # place where pace was lost -> attempts; a stream may have lost it at two
    memory_layers: list[LayerReading]  # where a conversation was remembered, by evidence
    ledger_counts: dict[str, dict[str, int]]  # ledger -> final state -> subjects
    contract: dict[str, Any]  # name, origin (declared | implied), and what it asks
    retries: dict[str, Any]
    workload: WorkloadReading | None  # null: single requests, or no plan is known
    windows: list[dict[str, Any]]  # over which rates were taken
    origins_ns: dict[str, str]  # clock domain -> what was subtracted from its times, as text
    observed: dict[str, Any]  # counts of server record, iterations, unreadable lines
    resources: ResourceReading | None  # null: the stream was recorded elsewhere
    counters: CounterReading | None  # null: no map of the engine's series is in the bundle


class InterpretationDocument(RunReading):
    """The whole reading, attempts and all: what the CLI prints. In an archive those lie in tables."""

    attempts: list[AttemptReading]
    tasks: list[TaskReading]
    ledgers: Ledgers
    lanes: list[Lane]
    ghost_load: list[GhostLoad]
    cancel_checks: list[CancelCheck]
