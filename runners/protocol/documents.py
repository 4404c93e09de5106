"""Shapes of the bundle's JSON documents. Absent facts are null beside a reason, never left out."""

from typing import Any, NotRequired, TypedDict


class Gap(TypedDict):
    """An observation gap: whose conclusion it affects, what would close it, where that stands."""

    what: str
    affects: str
    needed: str
    state: str  # open | accepted | closed


class Pointer(TypedDict):
    """Where evidence lies inside the bundle: a line of a text file, or a query on a trace or table."""

    file: str
    line: NotRequired[int]
    query: NotRequired[str]


class Evidence(TypedDict):
    strength: str  # EvidenceStrength
    statement: str
    pointer: Pointer | None
    conditions: dict[str, Any]  # shape, dtype, batch, capability
    engine_version: str
    t_ns: int | None


class IdentityItem(TypedDict):
    """One of the eight run-identity items. ``declared`` and ``ran`` are separate; null ``ran`` is unknown."""

    item: str  # see IDENTITY_ITEMS
    declared: Any
    ran: Any
    strength: str
    evidence: list[Evidence]
    reason: str | None  # why ``ran`` is null


IDENTITY_ITEMS = (
    "engine_version",
    "launch_configuration",
    "model_runner",
    "attention_gemm_backend",
    "graph_compile_mode",
    "hardware_runtime",
    "precision_path",
    "parallel_layout",
)


class VerifiedFile(TypedDict):
    path: str
    sha256: str
    bytes: int
    format: str


class ArtifactIdentity(TypedDict):
    """What was found on disk and agreed with the declaration, and the digest over it."""

    digest: str
    name: str
    revision: str
    source: dict[str, Any]
    parent: dict[str, Any] | None
    files: list[VerifiedFile]
    config: dict[str, Any]
    precision: dict[str, Any]
    tokenizer: dict[str, Any]
    chat_template: dict[str, Any]
    tools: dict[str, Any]
    generation: dict[str, Any]
    reproducibility: dict[str, Any]
    packages: dict[str, str]  # the counting script's tokenizers/transformers versions
    gaps: list[Gap]


class IdentityDocument(TypedDict):
    artifact: ArtifactIdentity | None  # null: nobody has seen what was served
    run: list[IdentityItem]
    complete: bool
    missing: list[str]


class ObservationPoint(TypedDict):
    point: str
    sees: str
    layer: str  # client_socket | engine_front | engine_loop | engine_metrics | host
    perspective: str  # client | server
    clock_domain: str
    rate_hz: float | None
    dropped: int | None
    level: str  # ResourceLimit


class Exchange(TypedDict):
    """Round trips between two clocks: how far the distant one is ahead, at least and at most."""

    when: str  # barrier | end
    rounds: int
    low_ns: int
    high_ns: int
    at_ns: int  # on the reference


class ClockDomain(TypedDict):
    """A clock domain is boot id + time namespace + clock kind."""

    id: str
    host: str
    boot_id: str
    time_namespace: str
    clock: str
    calibration: str  # reference | same_domain | bounded | uncalibrated
    error_ns: int | None
    # A load worker's: the mark of its process in attempts and wire, how far its clock is ahead of the
    # reference (at least and at most, over all exchanges), and each exchange by itself.
    worker: NotRequired[int]
    offset_ns: NotRequired[list[int]]
    exchanges: NotRequired[list[Exchange]]


class Anchor(TypedDict):
    monotonic_ns: int
    wall_ns: int
    boottime_ns: int
    spread_ns: int


class ClocksDocument(TypedDict):
    origin_ns: int
    client_domain: str
    domains: list[ClockDomain]
    anchors: list[Anchor]
    sync: dict[str, Any]  # the kernel's own synchronisation state
    client_error: dict[str, Any]  # loop lag, send lag: quantiles in ns, n


class Parameter(TypedDict):
    """A named parameter of a prediction. ``source``: specification | micro-benchmark | fit | assumption."""

    name: str
    value: float
    unit: str
    source: str
    reference: str
    date: str | None
    spread: list[float] | None  # lowest and highest value seen


class Prediction(TypedDict):
    quantity: str
    kind: str  # work | capacity | time
    conditions: dict[str, Any]
    bound: float | None
    estimate: float | None
    range: list[float] | None
    coverage: float | None
    unit: str
    layer: str
    memory_level: str | None
    validity: str  # calibrated | extrapolated
    parameters: list[str]
    overturned_by: str


class PredictionsDocument(TypedDict):
    registered_at: str  # UTC
    spec_digest: str
    plan_digest: str
    definition_version: str
    parameters: list[Parameter]
    predictions: list[Prediction]
    assumptions: list[str]
    calibration: NotRequired[str]  # sha256 of the calibration that its fitted parameters come from


class SwitchNote(TypedDict):
    """A removed, deprecated, renamed or otherwise changed switch, as a version record tells of it."""

    record: str  # engine and version
    subject: str
    names: list[str]
    kind: str
    use: str | None
    announced_removal: str | None
    note: str | None
    reading: str
    label: str
    source: str
    floating: bool
    parser_takes: dict[str, bool] | None  # null: no dump of the pinned version, or no flag
    used: list[str]  # of the names, those in this run's launch
    words: str


class VersionNotesDocument(TypedDict):
    """What was known of the pinned version's switches before the run."""

    engine: str
    version: str | None
    records: list[dict[str, Any]]
    parser: dict[str, Any] | None
    parser_absent: str | None
    switches: list[SwitchNote]
    warnings: list[str]


class RunContext(TypedDict):
    """What a run is told beside its spec; nothing here enters the spec digest."""

    run_id: str
    execution_id: str
    repetition: int
    study: str
    token: str
    artifact_roots: list[str]
    secret_names: list[str]  # names of environment variables whose values never reach a file
    endpoint_hosts: NotRequired[list[str]]  # beside loopback, where an engine elsewhere may be
    position: NotRequired[int]  # from 0, in the study's recorded order, repetitions included
    runs: NotRequired[int]  # how many the study has
    # Added by ``prepare`` to the copy in context.json, beside the bundle:
    port: NotRequired[int]  # of the engine, seen free on 127.0.0.1
    artifact_files: NotRequired[
        dict[str, str]
    ]  # declared path -> absolute path of the verified file
    spec_digest: NotRequired[str]
    plan_digest: NotRequired[str]


class RunRequest(TypedDict):
    spec: dict[str, Any]
    spec_digest: str
    context: RunContext


class Progress(TypedDict):
    """One line of ``progress.jsonl``."""

    t: str
    phase: str
    done: int
    total: int
    message: str
