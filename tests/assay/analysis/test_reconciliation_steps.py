"""Every difference between two stations is explained by its causes, or a remainder stays unexplained."""

from typing import Any

import pytest

from assay.analysis.documents import Reconciliation
from assay.analysis.reconciliation_steps import stations


def counted(**changes: Any) -> Reconciliation:
    found: dict[str, Any] = {
        "offered": 10,
        "created": 10,
        "sent": 10,
        "received": 10,
        "completed": 10,
        **dict.fromkeys(("failed", "timeout", "cancelled", "rejected", "unfinalised"), 0),
        "differences": [],
    }
    return Reconciliation(**(found | changes))  # type: ignore[typeddict-item]


@pytest.mark.req("8.05")
def test_causes_that_add_up_leave_nothing() -> None:
    # 10 offered, 2 retries make 12 created, 3 of them ended before the send: 9
    found = stations(
        counted(
            created=12,
            sent=9,
            received=9,
            completed=9,
            failed=3,
            differences=[
                "created exceeds requests by 2: retries of 2 attempt(s)",
                "created exceeds sent by 3: ended before the send (connect)",
            ],
        )
    )

    assert [(s.name, s.difference, s.unexplained) for s in found[1:]] == [
        ("created", 2, 0),
        ("sent", -3, 0),
        ("received", 0, 0),
        ("final states", 0, 0),
    ]
    assert found[2].causes[0].words == "ended before the send (connect)"


@pytest.mark.req("8.05")
def test_what_no_cause_accounts_for_stays_unexplained() -> None:
    # 10 sent, 7 received: one connection was lost first; two are left
    found = stations(
        counted(
            received=7,
            differences=[
                "sent exceeds received by 1: the connection was lost first",
                "unexplained: 2 sent attempt(s) without a server record (a, b)",
            ],
        )
    )

    received = found[3]
    assert (received.difference, received.unexplained) == (-3, -2)
    assert not received.is_explained


def test_without_a_server_record_there_is_no_difference_to_explain() -> None:
    received = stations(counted(received=None))[3]

    assert (received.count, received.difference, received.unexplained) == (None, None, 0)
