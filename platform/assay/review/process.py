"""The course of a review, as values: which step may be taken in which state, by whom, and what it leads to.

Nothing here reads or writes. Services load a ``Situation`` from rows, ask ``take`` for the one that follows,
and write what changed; so every rule of a review stands in this module.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from experiments.errors import refuse


class State(StrEnum):
    open = "open"
    changes_requested = "changes_requested"
    approved = "approved"
    rejected = "rejected"
    disputed = "disputed"  # one approves, another rejects
    signed_off = "signed_off"
    withdrawn = "withdrawn"
    superseded = "superseded"
    retracted = "retracted"


# Never stored: a sign-off whose bundle or definition version is no longer the one that the run shows.
STALE = "stale"


class VerdictKind(StrEnum):
    approve = "approve"
    request_changes = "request_changes"
    reject = "reject"


class Step(StrEnum):
    submit = "submit"
    ask = "ask"  # somebody to review it
    answer_item = "answer_item"
    accept_gap = "accept_gap"
    approve = "approve"
    request_changes = "request_changes"
    reject = "reject"
    answer_changes = "answer_changes"
    sign_off = "sign_off"
    withdraw = "withdraw"
    supersede = "supersede"
    retract = "retract"


UNDECIDED = frozenset(
    {State.open, State.changes_requested, State.approved, State.rejected, State.disputed}
)
FINAL = frozenset({State.withdrawn, State.superseded, State.retracted})
FROM: dict[Step, frozenset[State]] = {
    Step.submit: frozenset(),
    Step.ask: UNDECIDED,
    Step.answer_item: UNDECIDED,
    Step.accept_gap: UNDECIDED,
    Step.approve: UNDECIDED,
    Step.request_changes: UNDECIDED,
    Step.reject: UNDECIDED,
    Step.answer_changes: frozenset({State.changes_requested}),
    Step.sign_off: frozenset({State.approved}),
    Step.withdraw: UNDECIDED,
    Step.supersede: UNDECIDED | {State.signed_off},
    Step.retract: frozenset({State.signed_off}),
}
# What is judged must be judged by somebody who did not make it.
BY_ANOTHER = frozenset(
    {Step.accept_gap, Step.approve, Step.request_changes, Step.reject, Step.sign_off}
)
BY_AUTHOR = frozenset({Step.answer_changes, Step.withdraw})
WITHOUT_WORDS = frozenset({Step.ask, Step.supersede})  # every other step says why


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A verdict; a request for changes counts until the author has answered that round."""

    by: str
    kind: VerdictKind
    round: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """All that the rules of a review look at. People are named by their user names."""

    state: State = State.open
    authors: frozenset[str]  # who submitted it, and who ran what it is about
    round: int = 1
    verdicts: tuple[Given, ...] = ()  # oldest first
    open_gaps: frozenset[str] = frozenset()  # by name, those not accepted yet
    unanswered: frozenset[str] = frozenset()  # keys of checklist items
    outdated: str = ""  # what changed since the submission; empty while nothing has


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Somebody takes a step; ``what`` names the gap or the checklist item that it is about."""

    step: Step
    by: str
    words: str = ""
    what: str = ""


def take(now: Situation, act: Act) -> Situation:
    """The situation after the step. Raises Refusal, naming what stands against it."""
    _may_from_here(now, act)
    _may_by_them(now, act)
    if act.step not in WITHOUT_WORDS and not act.words.strip():
        raise refuse(
            field="words",
            seen="nothing",
            allowed="a sentence or more",
            remedy=f"Say why: {act.step.value} without a reason cannot be followed later.",
        )
    return _AFTER[act.step](now, act)


def standing(verdicts: tuple[Given, ...], *, round: int) -> State:
    """The state that verdicts lead to: the last one of each person counts."""
    latest = {given.by: given for given in verdicts}.values()
    kinds = {
        given.kind
        for given in latest
        if given.kind is not VerdictKind.request_changes or given.round == round
    }
    if {VerdictKind.approve, VerdictKind.reject} <= kinds:
        return State.disputed
    if VerdictKind.reject in kinds:
        return State.rejected
    if VerdictKind.request_changes in kinds:
        return State.changes_requested
    return State.approved if VerdictKind.approve in kinds else State.open


def _may_from_here(now: Situation, act: Act) -> None:
    if now.state in FROM[act.step]:
        return
    allowed = ", ".join(sorted(FROM[act.step])) or "no state: a review is submitted once"
    raise refuse(
        field="state",
        seen=now.state.value,
        allowed=f"{allowed} for {act.step.value}",
        remedy="Look at what the review waits for; a new one may supersede it.",
    )


def _may_by_them(now: Situation, act: Act) -> None:
    if act.step in BY_ANOTHER and act.by in now.authors:
        raise refuse(
            field="by",
            seen=act.by,
            allowed=f"somebody else than {', '.join(sorted(now.authors))}",
            remedy=f"Ask another person: {act.step.value} is not for who made or submitted the runs.",
        )
    if act.step in BY_AUTHOR and act.by not in now.authors:
        raise refuse(
            field="by",
            seen=act.by,
            allowed=f"one of {', '.join(sorted(now.authors))}",
            remedy="Comment instead; the author answers and withdraws.",
        )


def _verdict(now: Situation, act: Act) -> Situation:
    verdicts = (
        *now.verdicts,
        Given(by=act.by, kind=VerdictKind(act.step.value), round=now.round),
    )
    return replace(now, verdicts=verdicts, state=standing(verdicts, round=now.round))


def _approve(now: Situation, act: Act) -> Situation:
    _must_be_current(now)
    _must_accept_gaps(now)
    return _verdict(now, act)


def _answer_changes(now: Situation, _act: Act) -> Situation:
    following = now.round + 1
    return replace(now, round=following, state=standing(now.verdicts, round=following))


def _accept_gap(now: Situation, act: Act) -> Situation:
    if act.what not in now.open_gaps:
        raise refuse(
            field="gap",
            seen=act.what or "no name",
            allowed="; ".join(sorted(now.open_gaps)) or "none: every open gap is accepted",
            remedy="Name an open gap of this review's runs.",
        )
    return replace(now, open_gaps=now.open_gaps - {act.what})


def _answer_item(now: Situation, act: Act) -> Situation:
    return replace(now, unanswered=now.unanswered - {act.what})


def _sign_off(now: Situation, _act: Act) -> Situation:
    _must_be_current(now)
    _must_accept_gaps(now)
    if now.unanswered:
        raise refuse(
            field="checklist",
            seen=f"{len(now.unanswered)} without an answer: {', '.join(sorted(now.unanswered))}",
            allowed="an answer to every item",
            remedy="Answer each: holds, does not hold, or does not apply, with a note.",
        )
    return replace(now, state=State.signed_off)


def _must_be_current(now: Situation) -> None:
    if now.outdated:
        raise refuse(
            field="runs",
            seen=now.outdated,
            allowed="the bundles and the definition version that were submitted",
            remedy="Submit the runs anew; the new review supersedes this one.",
        )


def _must_accept_gaps(now: Situation) -> None:
    if now.open_gaps:
        raise refuse(
            field="gaps",
            seen="; ".join(sorted(now.open_gaps)),
            allowed="no open gap that nobody accepted",
            remedy="Accept each by name with a reason, or request changes.",
        )


def _moved(state: State) -> Callable[[Situation, Act], Situation]:
    return lambda now, _act: replace(now, state=state)


_AFTER: dict[Step, Callable[[Situation, Act], Situation]] = {
    Step.ask: lambda now, _act: now,
    Step.answer_item: _answer_item,
    Step.accept_gap: _accept_gap,
    Step.approve: _approve,
    Step.request_changes: _verdict,
    Step.reject: _verdict,
    Step.answer_changes: _answer_changes,
    Step.sign_off: _sign_off,
    Step.withdraw: _moved(State.withdrawn),
    Step.supersede: _moved(State.superseded),
    Step.retract: _moved(State.retracted),
}
