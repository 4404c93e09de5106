"""The task contract: stored before the run, it alone says what counts as done.

``task_outcome`` is computed over all branches (requests) of one task. It is never derived from the state of
one layer: three completed calls can make a partial success, a failed call a success.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

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


# Of these, some are made for each task of a run: tuples take a third of the time.
class BranchTry(NamedTuple):
    """One attempt of a branch: its final client state, and when it was decided, from the task's start."""

    state: ClientState
    ended_s: float | None


class BranchKind(StrEnum):
    """How a request of a task counts."""

    counted = "counted"  # one of the branches of which the contract wants all, or so many
    optional = "optional"  # the task may succeed without it
    essential = "essential"  # without it there is no answer: a step of a tool call, a join


class Branch(NamedTuple):
    """A request of a task. One that was planned and never created has no tries."""

    branch_id: str
    tries: tuple[BranchTry, ...]
    kind: BranchKind = BranchKind.counted


class Verdict(NamedTuple):
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
    success only where the contract allows degradation and at least one branch holds. What is essential must
    hold in either case; optional branches are counted nowhere.
    """
    if contract.origin == "implied" and len(branches) != 1:
        return Verdict(
            outcome=TaskOutcome.undetermined,
            why=f"{len(branches)} requests and no contract stored before the run",
            decided_s=None,
        )
    counted = _Held.of(contract, branches, BranchKind.counted)
    essential = _Held.of(contract, branches, BranchKind.essential)
    needed = contract.required_branches if counted.branches or not essential.branches else 0
    if contract.all_branches_required:
        needed = max(needed, counted.branches)
    return _verdict(contract, counted, essential, needed=needed)


class _Held(NamedTuple):
    """The branches of one kind: when those that hold were decided, how many were late, how many are open."""

    branches: int
    held: tuple[float, ...]
    late: int
    open: int

    @classmethod
    def of(cls, contract: Contract, branches: Sequence[Branch], kind: BranchKind) -> "_Held":
        held: list[float] = []
        late = open_ = 0
        own = [branch for branch in branches if branch.kind is kind]
        for branch in own:
            tries = branch.tries if contract.retry_allowed else branch.tries[:1]
            ends = [
                t.ended_s for t in tries if t.state is contract.success and t.ended_s is not None
            ]
            if not ends:
                open_ += any(t.state is ClientState.unfinalised for t in tries)
            elif contract.deadline_s is not None and min(ends) > contract.deadline_s:
                late += 1
            else:
                held.append(min(ends))
        return cls(branches=len(own), held=tuple(sorted(held)), late=late, open=open_)

    def reaches(self, needed: int) -> bool:
        return len(self.held) >= needed

    def may_reach(self, needed: int) -> bool:
        return len(self.held) + self.open >= needed


def _verdict(contract: Contract, counted: _Held, essential: _Held, *, needed: int) -> Verdict:
    facts = f"{len(counted.held)} of {needed} required branches held"
    if essential.branches:
        steps = f"{len(essential.held)} of {essential.branches} essential requests held"
        facts = f"{facts}, {steps}" if needed else steps
    if late := counted.late + essential.late:
        facts += f", {late} after the deadline of {contract.deadline_s:g} s"
    why = f"{contract.origin} contract {contract.name!r}: {facts}"
    is_whole = essential.reaches(essential.branches)
    if counted.reaches(needed) and is_whole:
        decisive = [*counted.held[needed - 1 : needed], *essential.held]
        return Verdict(outcome=TaskOutcome.success, why=why, decided_s=max(decisive))
    still_open = counted.open + essential.open
    if still_open and counted.may_reach(needed) and essential.may_reach(essential.branches):
        return Verdict(
            outcome=TaskOutcome.undetermined, why=f"{why}, {still_open} unfinalised", decided_s=None
        )
    partial = contract.degradation == "partial" and counted.held and is_whole
    return Verdict(
        outcome=TaskOutcome.partial_success if partial else TaskOutcome.failure,
        why=why,
        decided_s=None,
    )
