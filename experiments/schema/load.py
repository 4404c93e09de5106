"""Config group ``load``: when requests are sent, how long they are waited for, what is retried, the end."""

from dataclasses import dataclass
from enum import StrEnum

from experiments.schema.roles import context_field, key_field, variable_field


class LoadKind(StrEnum):
    closed = "closed"  # so many workers, each sends when its last request has ended
    constant = "constant"  # open: truly equal gaps
    poisson = "poisson"  # open: exponential gaps
    gamma = "gamma"  # open: gamma gaps of a declared burstiness
    burst = "burst"  # open: everything at once
    ramp = "ramp"  # open: the rate goes from one value to another
    staged = "staged"  # stages of rates (open) or of concurrencies (closed)
    trace = "trace"  # open: arrivals of a recorded trace


class ThinkTime(StrEnum):
    """How a closed loop's think times lie about their mean."""

    constant = "constant"
    exponential = "exponential"
    lognormal = "lognormal"


class Spacing(StrEnum):
    """How arrivals follow a rate that may change: at equal steps of its integral, or a Poisson process."""

    even = "even"
    poisson = "poisson"


class GiveUp(StrEnum):
    """What ends the retries of a request; ``count`` bounds them in every case."""

    count = "count"  # type: ignore[assignment]  # hides str.count, which nobody calls on it
    deadline = "deadline"
    budget = "budget"


class RetryAfter(StrEnum):
    """Whether a server's Retry-After makes a back-off longer."""

    ignore = "ignore"
    honour = "honour"


class TraceFormat(StrEnum):
    mooncake = "mooncake"  # JSONL: timestamp (ms), input_length, output_length, hash_ids
    azure = "azure"  # CSV: TIMESTAMP, ContextTokens, GeneratedTokens
    burstgpt = "burstgpt"  # CSV: Timestamp (s), Model, Request tokens, Response tokens, ...


class TraceLengths(StrEnum):
    workload = "workload"  # every request has the workload's lengths
    trace = "trace"  # each request has its own


class EmptyRows(StrEnum):
    """What is done with a row of a trace that has no input or no output tokens (a failed request)."""

    refuse = "refuse"
    skip = "skip"


@dataclass
class Timeouts:
    """Client waits in seconds; null means the client never gives up by itself."""

    connect_s: float | None = key_field(5.0)
    first_byte_s: float | None = key_field(60.0)
    total_s: float | None = key_field(120.0)
    between_reads_s: float | None = key_field(None)  # from one socket read of a reply to the next


@dataclass
class Retry:
    """The wait before retry k is ``min(backoff_s * 2**(k - 1), backoff_max_s)``, spread by ``jitter``.

    ``deadline_s`` counts from the first try's creation; ``budget_ratio`` bounds retries to that share of
    the first tries of the segment so far.
    """

    count: int = key_field(0)
    backoff_s: float = key_field(0.0)
    backoff_max_s: float | None = key_field(None)
    jitter: float = key_field(0.0)
    give_up: GiveUp = key_field(GiveUp.count)
    deadline_s: float | None = key_field(None)
    budget_ratio: float | None = key_field(None)
    retry_after: RetryAfter = key_field(RetryAfter.ignore)


@dataclass
class Ramp:
    """The rate goes in a straight line from one value to the other; arrivals come from its integral."""

    from_rate_per_s: float = variable_field()
    to_rate_per_s: float = variable_field()
    duration_s: float = variable_field()
    spacing: Spacing = key_field(Spacing.even)


@dataclass
class Stage:
    """A rate or a concurrency, for a duration or for a number of requests."""

    rate_per_s: float | None = variable_field(None)
    concurrency: int | None = variable_field(None)
    duration_s: float | None = variable_field(None)
    requests: int | None = variable_field(None)
    spacing: Spacing = key_field(Spacing.even)


@dataclass
class Trace:
    """``path`` lies below an allowed root; the bytes are pinned by ``sha256``.

    Rows are sorted by time, equal times in file order; those before ``start_s`` (of the trace's own time)
    are left out, and ``workload.requests`` is how many are taken at most. ``speed`` 2 replays in half the
    time. Lengths above a ``max_*_tokens`` are cut to it and counted.
    """

    path: str = context_field()
    sha256: str = key_field()
    format: TraceFormat = key_field()
    speed: float = variable_field(1.0)
    start_s: float = key_field(0.0)
    lengths: TraceLengths = key_field(TraceLengths.workload)
    max_input_tokens: int | None = key_field(None)
    max_output_tokens: int | None = key_field(None)
    empty_rows: EmptyRows = key_field(EmptyRows.refuse)


@dataclass
class Saturation:
    """An open loop is stopped when its backlog has grown over ``span_s`` with a significant trend.

    ``level`` is that of the trend test; ``growth_share`` is how much of what came due in the span must have
    been added to the backlog.
    """

    span_s: float = key_field(30.0)
    level: float = key_field(0.001)
    growth_share: float = key_field(0.1)


@dataclass
class StopRules:
    """What ends the sending early. Null: no such rule. Requests not sent stay among those offered."""

    max_duration_s: float | None = key_field(None)
    max_requests: int | None = key_field(None)
    max_errors: int | None = key_field(None)
    max_error_share: float | None = key_field(None)
    error_share_after: int = key_field(20)  # requests that must have ended before a share is judged
    saturation: Saturation | None = key_field(None)


@dataclass
class LoadConfig:
    """``concurrency`` applies to closed loops, ``rate_per_s`` to constant, poisson and gamma arrivals.

    ``burstiness`` is the shape of gamma gaps: their coefficient of variation is ``burstiness ** -0.5``, so
    that 1 is a Poisson process and less comes in bursts. What a kind does not use stays null.
    """

    kind: LoadKind = key_field()
    concurrency: int | None = variable_field(None)
    rate_per_s: float | None = variable_field(None)
    burstiness: float | None = variable_field(None)
    ramp: Ramp | None = key_field(None)
    stages: list[Stage] = key_field(list)
    trace: Trace | None = key_field(None)
    think_time_s: float = variable_field(0.0)
    think_time: ThinkTime = key_field(ThinkTime.constant)
    think_cv: float | None = key_field(None)
    max_send_lag_s: float = key_field(0.05)
    connection_reuse: bool = key_field(True)
    drain_s: float = key_field(30.0)
    timeouts: Timeouts = key_field(Timeouts)
    retry: Retry = key_field(Retry)
    stop: StopRules = key_field(StopRules)
    processes: int = variable_field(1)  # client processes that share one plan, started together
    workers: int = variable_field(0)  # how many of them are sent by load workers, one each
    seed: int = key_field(0)
