"""Names of what can be seen during a run. One word per fact, whoever saw it."""

from enum import StrEnum


class WireKind(StrEnum):
    """Rows of a wire stream (``wire/*.parquet`` and the interchange form ``wire.jsonl``)."""

    scheduled = "scheduled"
    created = "created"
    sent = "sent"
    headers = "headers"
    read = "read"
    closed = "closed"  # the body ended as its framing said
    timeout = "timeout"  # the client gave up waiting
    cancel = "cancel"  # the client cancelled on purpose
    error = "error"  # the transport failed before the end of the body


class SessionEvent(StrEnum):
    """Rows of ``session.jsonl``, written by the runner."""

    prepared = "prepared"
    predictions_registered = "predictions_registered"
    launch = "launch"
    container = "container"  # the image and container of an engine, as docker states them
    ready = "ready"
    identified = "identified"
    phase_start = "phase_start"
    phase_end = "phase_end"
    segment_end = (
        "segment_end"  # {"segment", "report"}: what the drive of one segment says of itself
    )
    stop = "stop"
    release_check = "release_check"
    gap = "gap"
    failure = "failure"
    interrupted = "interrupted"
    reaped = "reaped"
    sealed = "sealed"


class Phase(StrEnum):
    """Phases within one engine start. Only ``measure`` enters metrics."""

    warmup = "warmup"
    measure = "measure"
    drain = "drain"
    profile = "profile"


class Segment(StrEnum):
    """Parts of the plan. ``cases`` are the archive cases, sent alone; ``load`` is the declared load."""

    warmup = "warmup"
    cases = "cases"
    load = "load"
    profile = "profile"


class Step(StrEnum):
    """What a request is in its session or task."""

    turn = "turn"
    branch = "branch"
    joining = "joining"  # reads the branches' replies
    tool_call = "tool_call"
    continuation = "continuation"  # reads the tool's result
    regeneration = "regeneration"  # the same question again, since the answer's form was not held


class EngineEvent(StrEnum):
    """Rows of ``engine_events.jsonl``: what an engine says of itself, in its own clock.

    ``front_*`` are stamped by the process that owns the sockets, the others by the model loop.
    """

    clock = "clock"  # first line of each process: {"clock_domain", "process", "pid"}
    config = "config"  # the resolved configuration, echoed
    front_received = "front_received"
    front_written = "front_written"  # {"bytes", "chunk"}: one response write handed to the socket
    front_disconnected = "front_disconnected"
    front_finished = "front_finished"
    queued = "queued"
    scheduled = "scheduled"
    # {"number", "duration_ns", "requests": [{"request", "tokens_in", "tokens_out", "context"}],
    #  "running", "waiting", "kv_used", "kv_total"}; t_ns is the start of the step
    iteration = "iteration"
    first_token = "first_token"
    token = "token"
    preempted = "preempted"
    finished = "finished"  # {"reason": "stop" | "length"}
    cancelled = "cancelled"  # {"tokens_out", "phase"}
    failed = "failed"
    rejected = "rejected"
    kv_taken = "kv_taken"  # {"blocks", "used", "total"}
    kv_released = "kv_released"  # {"blocks", "used", "total", "level"}
    memory = "memory"  # {"rss_bytes", "kv_bytes_allocated"}


class ClientState(StrEnum):
    completed = "completed"
    failed = "failed"
    timeout = "timeout"
    cancelled = "cancelled"
    rejected = "rejected"
    unfinalised = "unfinalised"


class ServerState(StrEnum):
    received = "received"
    queued = "queued"
    running = "running"
    completed = "completed"
    cancelled = "cancelled"
    failed = "failed"
    rejected = "rejected"
    undetermined = "undetermined"


class TaskOutcome(StrEnum):
    success = "success"
    partial_success = "partial_success"
    failure = "failure"
    undetermined = "undetermined"


class ReleaseState(StrEnum):
    held = "held"
    released = "released"
    unknown = "unknown"


class ReleaseLevel(StrEnum):
    """How far resources came back, weakest first."""

    computing_stopped = "computing_stopped"
    blocks_dropped = "blocks_dropped"
    blocks_reusable = "blocks_reusable"
    process_returned = "process_returned"


class RunState(StrEnum):
    """The life of a run. The last five are final."""

    queued = "queued"
    running = "running"
    sealed = "sealed"
    failed = "failed"
    aborted = "aborted"
    lost = "lost"
    refused = "refused"


LIVE_STATES = (RunState.queued, RunState.running)


class EvidenceStrength(StrEnum):
    """``source``: the path is possible. ``log``: it was declared. ``trace``: this run did it."""

    none = "none"
    source = "source"
    log = "log"
    trace = "trace"


class ResourceLimit(StrEnum):
    """E0 no device, E1 the caller's view, E2 the inside of the engine."""

    E0 = "E0"
    E1 = "E1"
    E2 = "E2"
