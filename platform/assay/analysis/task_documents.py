"""The shape of what is said of tasks and of the workload. A null stands beside its reason in ``absent``."""

from typing import Any, TypedDict


class StepReading(TypedDict):
    """One request of a task, by its last attempt. Times are ns of the client's clock domain."""

    request_id: str
    attempt_id: str | None
    step: str | None
    turn: int | None
    branch: str | None
    counts_as: str  # counted | optional | essential
    regeneration_of: str | None
    client_state: str  # "not created" for one that never was
    attempts: int
    started_ns: int | None
    ended_ns: int | None
    wall_s: float | None
    input_tokens: int | None  # by the pinned template and tokenizer
    history_tokens: int | None
    prompt_tokens: int | None  # by the server
    cached_tokens: int | None
    unreused_tokens: int | None
    output_tokens: int | None
    work_flops: int | None
    internal_tokens: int | None
    visible_tokens: int | None
    billed_tokens: int | None
    first_internal_ns: int | None
    first_visible_ns: int | None
    form_held: bool | None
    form_problem: str | None
    call_parsed: bool | None
    call_source: str | None
    absent: dict[str, str]


class ToolTimes(TypedDict):
    """Three times, never one sum. ``mocked``: the function's variability lay outside this experiment."""

    call_generation_s: float | None
    waiting_s: float | None
    continued_generation_s: float | None
    dependency: str
    mocked: bool
    injected_s: float | None
    placement: str
    placement_why: str
    absent: dict[str, str]


class ModelWork(TypedDict):
    """What the model did for a task: tokens and state of all its calls, those of no use among them."""

    prompt_tokens: int | None
    unreused_tokens: int | None
    output_tokens: int | None
    regenerated_output_tokens: int | None  # cost, no output
    state_tokens: int | None  # tokens stored at the end of each call, summed over its calls
    work_flops: int | None
    absent: dict[str, str]


class TaskReading(TypedDict):
    task_id: str
    session_id: str
    structure: str
    turn: int | None
    outcome: str | None
    completion: dict[str, Any]  # the contract's conditions, and why it came out so
    requests_planned: int
    requests_created: int
    model_calls: int
    regenerations: int
    attempts: int
    wall_s: float | None
    steps: list[StepReading]
    model_work: ModelWork
    tool: ToolTimes | None
    media: list[dict[str, Any]]
    is_reviewable: bool
    not_reviewable: list[str]  # which of the four quantities of a turn are missing
    absent: dict[str, str]


class WorkloadRow(TypedDict):
    """One figure over tasks or sessions."""

    name: str
    unit: str
    population: str
    n: int
    of: int
    mean: float | None
    least: float | None
    most: float | None
    absent: str | None


class WorkloadReading(TypedDict):
    structure: str
    tasks_planned: int
    tasks_created: int
    mocked_dependencies: dict[str, float]
    rows: list[WorkloadRow]
    form: dict[str, Any] | None  # quality beside speed, never one without the other
    sessions: list[dict[str, Any]]  # containers of turns; they have no outcome
