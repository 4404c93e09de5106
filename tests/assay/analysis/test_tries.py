"""Attempts grouped by their ids: alike from attempts and from the columns in which they are kept."""

from collections.abc import Sequence

import pytest

from assay.analysis.columns import kept_some, number, texts, values, where
from assay.analysis.kept import KeptAttempts
from assay.analysis.tries import by_task, request_codes, tries_of
from assay.analysis.wire.attempt import Attempt, AttemptIds
from runners.protocol.events import ClientState


def attempt(name: str, created_ns: int | None, request: str | None, task: str | None) -> Attempt:
    ids = AttemptIds(attempt_id=name, request_id=request, task_id=task)
    made = Attempt(ids=ids, clock_domain="c", created_ns=created_ns)
    made.state = ClientState.failed if name.startswith("f") else ClientState.completed
    return made


ATTEMPTS = [
    attempt("b2", 30, "b", "T2"),
    attempt("f-a1", 10, "a", "T1"),
    attempt("b1", 20, "b", "T2"),
    attempt("own", None, None, None),
    attempt("a2", 40, "a", "T1"),
]


@pytest.fixture(params=["attempts", "kept"])
def several(request: pytest.FixtureRequest) -> Sequence[Attempt]:
    return ATTEMPTS if request.param == "attempts" else KeptAttempts.of(ATTEMPTS)


def test_tries_stand_by_request_in_the_order_of_their_making(several: Sequence[Attempt]) -> None:
    found = tries_of(several)

    names = [several[at].attempt_id for at in found.order.tolist()]
    assert names == ["f-a1", "a2", "b1", "b2", "own"]
    assert found.first.tolist() == [0, 2, 4]
    assert found.last.tolist() == [1, 3, 4]
    assert found.number.tolist() == [0, 1, 0, 1, 0]


def test_an_attempt_without_a_request_is_its_own(several: Sequence[Attempt]) -> None:
    codes = request_codes(several).tolist()

    assert codes[0] == codes[2] != codes[1] == codes[4]
    assert len(set(codes)) == 3


def test_tasks_come_in_order_of_first_appearance(several: Sequence[Attempt]) -> None:
    found = {name: [a.attempt_id for a in own] for name, own in by_task(several)}

    assert list(found.items()) == [("T2", ["b2", "b1"]), ("T1", ["f-a1", "a2"])]


def test_columns_are_the_attempts_own(several: Sequence[Attempt]) -> None:
    times, known = number(several, "created_ns")
    completed = where(several, "state", lambda state: state is ClientState.completed)

    assert known.tolist() == [True, True, True, False, True]
    assert times[known].tolist() == [30, 10, 20, 40]
    assert completed.tolist() == [True, False, True, True, True]
    assert values(several, "state") == {ClientState.completed: 4, ClientState.failed: 1}
    assert values(several, "reply.problem") == {None: 5}


def test_ids_of_which_one_begins_another_are_told_apart() -> None:
    named = [attempt(name, 1, None, None) for name in ("a", "a\0", "aa", "推")]

    found, known = texts(KeptAttempts.of(named), "attempt_id")

    assert len(set(found.tolist())) == 4
    assert known.all()


def test_some_of_the_kept_keep_their_order() -> None:
    some = kept_some(KeptAttempts.of(ATTEMPTS))[3:0:-1]

    assert [a.attempt_id for a in some] == ["own", "b1", "f-a1"]
    assert number(some, "created_ns")[0][1:].tolist() == [20, 10]


def test_of_no_attempt_there_are_no_tries() -> None:
    found = tries_of(KeptAttempts())

    assert [len(part) for part in (found.order, found.first, found.last, found.number)] == [0] * 4
    assert list(by_task(KeptAttempts())) == []
