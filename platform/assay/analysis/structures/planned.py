"""What the plan says of each request of a structured workload, and what was sent where it could not know.

Read from ``plan.parquet`` and ``sent_inputs.parquet`` rows; joined with attempts by request id.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.analysis.ledgers.contract import BranchKind
from assay.analysis.ledgers.task import PlannedTask
from runners.protocol.events import Phase, Step

_COUNTED_STEPS = (None, Step.turn.value, Step.branch.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRequest:
    """One request. Times count from the run's origin; ``regeneration_of``: made while the run went."""

    request_id: str
    task_id: str
    session_id: str
    step: str | None = None
    turn: int | None = None
    branch: str | None = None
    is_required: bool = True
    after: tuple[str, ...] = ()
    delay_ns: int | None = None
    dependency: str | None = None
    input_tokens: int | None = None
    history_tokens: int | None = None
    on_reply: Mapping[str, Any] | None = None
    regeneration_of: str | None = None
    replies_of: tuple[str, ...] = ()
    ready_ns: int | None = None
    call_source: str | None = None

    @property
    def kind(self) -> BranchKind:
        if not self.is_required:
            return BranchKind.optional
        return BranchKind.counted if self.step in _COUNTED_STEPS else BranchKind.essential


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadFacts:
    """The declared workload and its requests of the measured phase, in the order of the plan."""

    structure: str
    requests: Mapping[str, PlannedRequest]
    form: Mapping[str, Any] | None = None  # the declared form of answers
    media: tuple[Mapping[str, Any], ...] = ()
    mocked: Mapping[str, float] = field(default_factory=dict)  # dependency -> its injected delay, s
    model: Mapping[str, Any] | None = None  # artifact.config

    def by_task(self) -> dict[str, list[PlannedRequest]]:
        tasks: dict[str, list[PlannedRequest]] = {}
        for request in self.requests.values():
            tasks.setdefault(request.task_id, []).append(request)
        return tasks


def has_structure(workload: Mapping[str, Any]) -> bool:
    """Whether a workload is more than single requests whose words nobody judges."""
    is_single = workload.get("structure", "single_turn") == "single_turn"
    return not is_single or any(workload.get(n) for n in ("structured", "reasoning", "media"))


def planned_task(requests: Iterable[PlannedRequest]) -> PlannedTask:
    """How each request of a task counts for its contract."""
    own = list(requests)
    return PlannedTask(
        kinds={r.request_id: r.kind for r in own if r.regeneration_of is None},
        stands_for={r.request_id: r.regeneration_of for r in own if r.regeneration_of is not None},
    )


def workload_facts(
    spec: Mapping[str, Any],
    plan: Iterable[Mapping[str, Any]],
    sent: Iterable[Mapping[str, Any]],
    *,
    origin_ns: int,
) -> WorkloadFacts:
    """Facts of a run from its own tables; rows of plans before structures have none of their columns."""
    made = {row["request_id"]: row for row in sent}
    requests: dict[str, PlannedRequest] = {}
    for row in plan:
        if row["phase"] == Phase.measure and row["task_id"] is not None:
            requests[row["request_id"]] = _planned(row, made.get(row["request_id"]), origin_ns)
    for name, row in made.items():
        first = requests.get(row["regeneration_of"] or "")
        if first is not None:
            requests[name] = _regenerated(row, first, origin_ns)
    workload = spec.get("workload") or {}
    mocked = (spec.get("boundary") or {}).get("external_dependencies") or ()
    return WorkloadFacts(
        structure=str(workload.get("structure") or "single_turn"),
        requests=requests,
        form=workload.get("structured"),
        media=tuple(workload.get("media") or ()),
        mocked={d["name"]: d["fixed_delay_s"] for d in mocked if d.get("mocked")},
        model=(spec.get("artifact") or {}).get("config"),
    )


def _planned(
    row: Mapping[str, Any], sent: Mapping[str, Any] | None, origin_ns: int
) -> PlannedRequest:
    made = sent or {}
    on_reply = row.get("on_reply")
    required = row.get("is_required")
    ready = made.get("ready_ns")
    return PlannedRequest(
        request_id=row["request_id"],
        task_id=row["task_id"],
        session_id=row["session_id"],
        step=row.get("step"),
        turn=row.get("turn"),
        branch=row.get("branch"),
        is_required=required is None or bool(required),
        after=tuple(row.get("after") or ()),
        delay_ns=row.get("after_delay_ns"),
        dependency=row.get("dependency"),
        input_tokens=made.get("input_tokens") if sent else row.get("input_tokens"),
        history_tokens=made.get("history_tokens") if sent else row.get("history_tokens"),
        on_reply=json.loads(on_reply) if on_reply else None,
        replies_of=tuple(made.get("replies_of") or ()),
        ready_ns=None if ready is None else ready - origin_ns,
        call_source=made.get("call_source"),
    )


def _regenerated(row: Mapping[str, Any], first: PlannedRequest, origin_ns: int) -> PlannedRequest:
    return PlannedRequest(
        request_id=row["request_id"],
        task_id=row["task_id"],
        session_id=row["session_id"],
        step=row["step"],
        turn=first.turn,
        branch=first.branch,
        is_required=first.is_required,
        input_tokens=row["input_tokens"],
        history_tokens=row["history_tokens"],
        on_reply=first.on_reply,
        regeneration_of=first.request_id,
        ready_ns=row["ready_ns"] - origin_ns,
    )
