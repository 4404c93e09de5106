"""The task contract: stored before the run, it alone says what counts as done.

``task_outcome`` is computed over all branches (requests) of one task. It is never derived from the state of
one layer: three completed calls can make a partial success, a failed call a success.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.analysis.errors import BadRecord, ClaimRefused
from runners.protocol.events import ClientState, TaskOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """``deadline_s`` counts from the start of the task. ``degradation``: none | partial.

    ``origin`` is declared, or implied: one request, no deadline, any of its attempts may complete it.
    """

    name: str
    origin: str = "declared"
    deadline_s: float | None = None
    required_branches: int = 1
    all_branches_required: bool = True
    degradation: str = "none"
    retry_allowed: bool = False
    success: ClientState = ClientState.completed


IMPLIED = Contract(name="implied single request", origin="implied", retry_allowed=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchTry:
    """One attempt of a branch: its final client state, and when it was decided, from the task's start."""

    state: ClientState
    ended_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    branch_id: str
    tries: tuple[BranchTry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    outcome: TaskOutcome
    why: str
    decided_s: float | None  # from the task's start; None when undetermined


def contract_of(document: Mapping[str, Any]) -> Contract:
    """A contract from its document (``spec.json`` or a ``task.contract`` event)."""
    degradation = document.get("degradation", "none")
    if degradation not in ("none", "partial"):
        raise BadRecord(
            field="contract.degradation",
            seen=repr(degradation),
            allowed="none, partial",
            remedy="Declare what an incomplete task counts as.",
        )
    success = document.get("success", ClientState.completed.value)
    if success not in ClientState.__members__:
        raise BadRecord(
            field="contract.success",
            seen=repr(success),
            allowed=", ".join(ClientState),
            remedy="Name the client state that an attempt must reach.",
        )
    return Contract(
        name=str(document.get("name", "unnamed")),
        deadline_s=document.get("deadline_s"),
        required_branches=int(document.get("required_branches", 1)),
        all_branches_required=bool(document.get("all_branches_required", True)),
        degradation=degradation,
        retry_allowed=bool(document.get("retry_allowed", False)),
        success=ClientState(success),
    )


def require_stored_before(*, stored_ns: int, run_started_ns: int) -> None:
    """A contract made or edited after the run began cannot judge that run."""
    if stored_ns > run_started_ns:
        raise ClaimRefused(
            field="contract",
            seen=f"stored {stored_ns - run_started_ns} ns after the run began",
            allowed="stored before the run",
            remedy="Judge the next run by it; this one keeps the contract it was started with.",
        )


def task_outcome(contract: Contract, branches: Sequence[Branch]) -> Verdict:
    """Judge a task by its contract.

    A branch holds if one of its tries (only the first, unless retry is allowed) reached ``contract.success``
    within the deadline. All branches (or ``required_branches`` of them) make success; fewer make a partial
    success only where the contract allows degradation and at least one branch holds.
    """
    if contract.origin == "implied" and len(branches) != 1:
        return Verdict(
            outcome=TaskOutcome.undetermined,
            why=f"{len(branches)} requests and no contract stored before the run",
            decided_s=None,
        )
    held: list[float] = []
    late = open_ = 0
    for branch in branches:
        tries = branch.tries if contract.retry_allowed else branch.tries[:1]
        ends = [t.ended_s for t in tries if t.state is contract.success and t.ended_s is not None]
        if not ends:
            open_ += any(t.state is ClientState.unfinalised for t in tries)
        elif contract.deadline_s is not None and min(ends) > contract.deadline_s:
            late += 1
        else:
            held.append(min(ends))
    needed = contract.required_branches
    if contract.all_branches_required:
        needed = max(needed, len(branches))
    return _verdict(contract, sorted(held), needed=needed, late=late, still_open=open_)


def _verdict(
    contract: Contract, held: list[float], *, needed: int, late: int, still_open: int
) -> Verdict:
    facts = f"{len(held)} of {needed} required branches held"
    if late:
        facts += f", {late} after the deadline of {contract.deadline_s:g} s"
    why = f"{contract.origin} contract {contract.name!r}: {facts}"
    if len(held) >= needed:
        return Verdict(outcome=TaskOutcome.success, why=why, decided_s=held[needed - 1])
    if still_open and len(held) + still_open >= needed:
        return Verdict(
            outcome=TaskOutcome.undetermined, why=f"{why}, {still_open} unfinalised", decided_s=None
        )
    partial = contract.degradation == "partial" and held
    return Verdict(
        outcome=TaskOutcome.partial_success if partial else TaskOutcome.failure,
        why=why,
        decided_s=None,
    )
