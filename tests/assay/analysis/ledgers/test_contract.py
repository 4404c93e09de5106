"""Task outcomes come from the contract alone."""

import pytest

from assay.analysis.errors import BadRecord, ClaimRefused
from assay.analysis.ledgers.contract import (
    IMPLIED,
    Branch,
    BranchKind,
    BranchTry,
    Contract,
    contract_of,
    require_stored_before,
    task_outcome,
)
from runners.protocol.events import ClientState, TaskOutcome

DONE, FAILED = ClientState.completed, ClientState.failed


def branch(*tries: tuple[ClientState, float | None]) -> Branch:
    return Branch(
        branch_id="b", tries=tuple(BranchTry(state=state, ended_s=end) for state, end in tries)
    )


@pytest.mark.req("1.16")
@pytest.mark.forbids
def test_a_failed_branch_fails_the_task_only_where_all_are_required() -> None:
    branches = [branch((DONE, 1)), branch((FAILED, 1)), branch((DONE, 2))]
    all_required = Contract(name="all")
    two_of_three = Contract(name="two", all_branches_required=False, required_branches=2)

    assert task_outcome(all_required, branches).outcome is TaskOutcome.failure
    assert task_outcome(two_of_three, branches).outcome is TaskOutcome.success


def test_a_retry_counts_only_where_it_is_allowed() -> None:
    branches = [branch((FAILED, 1), (DONE, 2))]

    assert task_outcome(Contract(name="no"), branches).outcome is TaskOutcome.failure
    allowed = task_outcome(Contract(name="yes", retry_allowed=True), branches)
    assert (allowed.outcome, allowed.decided_s) == (TaskOutcome.success, 2)


@pytest.mark.req("1.17")
@pytest.mark.forbids
def test_completed_calls_after_the_deadline_are_no_success() -> None:
    verdict = task_outcome(Contract(name="d", deadline_s=5), [branch((DONE, 6))])

    assert verdict.outcome is TaskOutcome.failure
    assert "1 after the deadline of 5 s" in verdict.why


@pytest.mark.req("1.15")
def test_several_requests_without_a_contract_are_undetermined() -> None:
    verdict = task_outcome(IMPLIED, [branch((DONE, 1)), branch((DONE, 1))])

    assert verdict.outcome is TaskOutcome.undetermined
    assert task_outcome(IMPLIED, [branch((DONE, 1))]).outcome is TaskOutcome.success


def test_an_open_branch_that_could_still_decide_leaves_the_task_undetermined() -> None:
    branches = [branch((DONE, 1)), branch((ClientState.unfinalised, None))]

    assert task_outcome(Contract(name="all"), branches).outcome is TaskOutcome.undetermined


@pytest.mark.req("1.14")
@pytest.mark.forbids
def test_a_contract_stored_after_the_run_began_cannot_judge_it() -> None:
    require_stored_before(stored_ns=5, run_started_ns=5)

    with pytest.raises(ClaimRefused, match="stored 1 ns after the run began"):
        require_stored_before(stored_ns=6, run_started_ns=5)


@pytest.mark.parametrize(
    ("document", "words"),
    [({"degradation": "some"}, "contract.degradation"), ({"success": "done"}, "contract.success")],
)
def test_a_contract_with_unknown_words_is_refused(document: dict[str, str], words: str) -> None:
    with pytest.raises(BadRecord, match=words):
        contract_of(document)


def of_kind(kind: BranchKind, ended_s: float | None) -> Branch:
    """A branch that completed at ``ended_s``, or was planned and never created."""
    tries = () if ended_s is None else (BranchTry(state=ClientState.completed, ended_s=ended_s),)
    return Branch(branch_id=f"{kind}-{ended_s}", tries=tries, kind=kind)


@pytest.mark.req("1.15", "1.16")
@pytest.mark.parametrize(
    ("degradation", "ends", "outcome", "decided_s"),
    [
        # counted, counted, optional, essential
        ("none", (1.0, 2.0, None, 3.0), TaskOutcome.success, 3.0),  # the join decides, last
        ("none", (1.0, 4.0, None, 3.0), TaskOutcome.success, 4.0),
        ("none", (1.0, 2.0, 2.5, None), TaskOutcome.failure, None),  # no join, no answer
        ("partial", (1.0, None, None, 3.0), TaskOutcome.partial_success, None),
        ("partial", (1.0, None, None, None), TaskOutcome.failure, None),
        ("partial", (None, None, 1.0, 3.0), TaskOutcome.failure, None),  # optional alone is nothing
    ],
)
def test_optional_branches_count_nowhere_and_essential_ones_must_hold(
    degradation: str,
    ends: tuple[float | None, ...],
    outcome: TaskOutcome,
    decided_s: float | None,
) -> None:
    kinds = (BranchKind.counted, BranchKind.counted, BranchKind.optional, BranchKind.essential)
    branches = [of_kind(kind, end) for kind, end in zip(kinds, ends, strict=True)]

    verdict = task_outcome(Contract(name="c", degradation=degradation), branches)

    assert verdict.outcome is outcome
    assert verdict.decided_s == decided_s
