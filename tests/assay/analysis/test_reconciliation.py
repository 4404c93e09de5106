"""Counts at every station, each difference explained or shown."""

from collections.abc import Collection
from typing import Any

import pytest

from assay.analysis.documents import Reconciliation
from assay.analysis.reconciliation import reconcile
from tests.assay.analysis.streams import attempts, delta, read, row


def completed(name: str, **ids: Any) -> list[Any]:
    return [
        row("created", 0, name, **ids),
        row("sent", 1, name),
        read(2, delta("x", finish="stop"), name),
        row("closed", 3, name),
    ]


def reconciled(
    rows: list[Any], *, offered: int | None = None, received: Collection[str] | None = None
) -> Reconciliation:
    return reconcile(attempts(*rows), offered=offered, received=received)


@pytest.mark.req("8.05", "8.19")
def test_a_retry_explains_why_more_was_created_than_offered() -> None:
    rows = [
        row("created", 0, "r.A1", request_id="r"),
        row("sent", 1, "r.A1"),
        row("timeout", 2, "r.A1"),
        *completed("r.A2", request_id="r", retry_of="r.A1"),
    ]

    found = reconciled(rows, received={"r.A1", "r.A2"})

    assert (found["offered"], found["created"], found["sent"]) == (1, 2, 2)
    assert (found["completed"], found["timeout"]) == (1, 1)
    assert found["differences"] == ["created exceeds requests by 1: retries of 1 attempt(s)"]


@pytest.mark.req("8.05")
def test_what_was_never_created_or_never_sent_is_named() -> None:
    rows = [*completed("a"), row("created", 0, "b"), row("error", 1, "b", detail="refused")]

    found = reconciled(rows, offered=3)

    assert found["differences"] == [
        "offered exceeds requests seen by 1: never created",
        "created exceeds sent by 1: ended before the send (connect)",
    ]


@pytest.mark.req("8.05")
def test_a_sent_attempt_that_no_server_saw_is_unexplained() -> None:
    found = reconciled([*completed("a"), *completed("b")], received={"a"})

    assert found["received"] == 1
    assert found["differences"] == ["unexplained: 1 sent attempt(s) without a server record (b)"]


def test_a_lost_connection_explains_it() -> None:
    rows = [*completed("a"), row("created", 0, "b"), row("sent", 1, "b"), row("error", 2, "b")]

    found = reconciled(rows, received={"a"})

    assert found["differences"] == ["sent exceeds received by 1: the connection was lost first"]


def test_received_is_unknown_without_any_server_record() -> None:
    assert reconciled(completed("a"))["received"] is None


def test_every_attempt_is_in_exactly_one_final_state() -> None:
    rows = [
        *completed("a"),
        row("sent", 0, "b"),
        row("timeout", 1, "b"),
        row("sent", 0, "c"),
        row("cancel", 1, "c"),
        row("sent", 0, "d"),
        row("sent", 0, "e"),
        row("headers", 1, "e", status=429),
        row("sent", 0, "f"),
        row("headers", 1, "f", status=500),
    ]

    found = reconciled(rows)

    states = ("completed", "failed", "timeout", "cancelled", "rejected", "unfinalised")
    assert [found[s] for s in states] == [1, 1, 1, 1, 1, 1]  # type: ignore[literal-required]
    assert sum(found[s] for s in states) == found["created"]  # type: ignore[literal-required]


def test_a_request_that_was_only_scheduled_is_offered_and_not_created() -> None:
    found = reconciled([*completed("a"), row("scheduled", 5, "b")])

    assert (found["offered"], found["created"], found["sent"]) == (2, 1, 1)
    assert found["unfinalised"] == 1
    assert found["differences"] == [
        "offered exceeds created by 1: scheduled, then nothing recorded"
    ]
