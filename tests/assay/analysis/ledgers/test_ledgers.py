"""Ledgers: independent, joined by ids, time-resolved."""

from typing import Any

import pytest

from assay.analysis.absence import Absent
from assay.analysis.clocks import Instant
from assay.analysis.errors import BadRecord, ClaimRefused
from assay.analysis.ledgers.at import final_counts, final_rows, state_at
from tests.assay.analysis.streams import DONE, MS, delta, interpretation, read, row

IDS = {"task_id": "T", "request_id": "r", "session_id": "S", "model_call_id": "M"}
GOOD = delta("x", finish="stop") + DONE


def completed(attempt: str = "a", start_ms: float = 0) -> list[dict[str, Any]]:
    return [
        row("created", start_ms, attempt, **IDS),
        row("sent", start_ms + 1, attempt),
        read(start_ms + 10, GOOD, attempt),
        row("closed", start_ms + 11, attempt, status=200),
    ]


def server(event: str, t_ms: float, attempt: str = "a", **more: Any) -> dict[str, Any]:
    return {
        "event": event,
        "t_ns": round(t_ms * MS),
        "attempt_id": attempt,
        "layer": "engine",
        "perspective": "server",
        "error_ns": 0,
        **more,
    }


@pytest.mark.req("8.02")
def test_created_and_sent_are_two_client_states() -> None:
    rows = interpretation(completed())["ledgers"]["client"]

    assert [(r["state"], r["from_ns"], r["to_ns"]) for r in rows] == [
        ("created", 0, 1 * MS),
        ("sent", 1 * MS, 11 * MS),
        ("completed", 11 * MS, None),
    ]
    assert rows[0]["evidence"] == "wire.jsonl:1"


@pytest.mark.req("8.01", "1.01", "1.04")
def test_rows_carry_five_ids_and_no_ledger_has_another_s_column() -> None:
    document = interpretation(completed())

    (task,) = {r["subject"] for r in document["ledgers"]["task"]}
    assert task == "T"
    for row_ in document["ledgers"]["client"]:
        assert row_["subject_type"] == "attempt"
        assert {k: row_["ids"][k] for k in IDS} == IDS
        assert "server_state" not in row_


@pytest.mark.req("8.03")
@pytest.mark.forbids
def test_a_client_time_out_is_no_server_state() -> None:
    rows = [row("sent", 0), row("timeout", 50)]

    alone = interpretation(rows)["ledgers"]["server"]
    running = interpretation(rows, [server("engine.scheduled", 10)])["ledgers"]["server"]

    assert [r["state"] for r in alone] == ["undetermined"]
    assert (alone[0]["from_ns"], alone[0]["evidence"]) == (None, None)
    assert [r["state"] for r in running] == ["running"]
    assert running[-1]["to_ns"] is None


@pytest.mark.req("8.06")
def test_ledgers_may_disagree_at_one_instant() -> None:
    document = interpretation(
        [row("sent", 0), row("timeout", 50)],
        [server("engine.scheduled", 10), server("server.completed", 90)],
    )
    at = Instant(t_ns=60 * MS, clock_domain="unspecified")

    client = state_at(document["ledgers"]["client"], "a", at)
    seen = state_at(document["ledgers"]["server"], "a", at)

    assert client is not None
    assert not isinstance(client, Absent)
    assert seen is not None
    assert not isinstance(seen, Absent)
    assert (client["state"], seen["state"]) == ("timeout", "running")


def test_a_state_begins_at_its_instant_and_ends_before_the_next() -> None:
    rows = interpretation(completed())["ledgers"]["client"]

    def state(t_ns: int) -> str | None:
        found = state_at(rows, "a", Instant(t_ns=t_ns, clock_domain="unspecified"))
        assert not isinstance(found, Absent)
        return found["state"] if found else None

    assert state(-1) is None
    assert state(0) == "created"
    assert state(1 * MS) == "sent"
    assert state(11 * MS) == "completed"


def test_within_the_clocks_error_a_state_is_not_claimed() -> None:
    events = [server("server.completed", 90, clock_domain="other", error_ns=2 * MS)]
    rows = interpretation(completed(), events)["ledgers"]["server"]

    near = state_at(rows, "a", Instant(t_ns=91 * MS, clock_domain="unspecified", error_ns=0))
    far = state_at(rows, "a", Instant(t_ns=95 * MS, clock_domain="unspecified", error_ns=0))

    assert isinstance(near, Absent)
    assert far is not None
    assert not isinstance(far, Absent)
    assert far["state"] == "completed"


def test_final_counts_are_over_subjects_not_rows() -> None:
    document = interpretation([*completed("a"), *completed("b", 100)])

    assert final_counts(document["ledgers"]["client"]) == {"completed": 2}
    assert document["ledger_counts"]["client"] == {"completed": 2}
    assert set(final_rows(document["ledgers"]["client"])) == {"a", "b"}


@pytest.mark.req("8.06")
@pytest.mark.parametrize(
    ("events", "states"),
    [
        # received 2, queued 3, head 4 (no content), first content 180, end 300: running from 180 on
        (
            [
                ("front_written", 4, {"part": "head"}),
                ("front_written", 180, {"bytes": 9}),
                ("finished", 300, None),
            ],
            [("received", 2), ("queued", 3), ("running", 180), ("completed", 300)],
        ),
        # a head alone shows nothing: vLLM sends it while the request waits
        ([("front_written", 4, {"part": "head"})], [("received", 2), ("queued", 3)]),
        # written 2.5, queued printed 3, to the millisecond: running from 3, never before it was queued
        ([("front_written", 2.5, {"bytes": 9})], [("received", 2), ("queued", 3), ("running", 3)]),
        # the body of a refusal follows the refusal
        (
            [("rejected", 4, None), ("front_written", 5, {"bytes": 9})],
            [("received", 2), ("queued", 3), ("rejected", 4)],
        ),
        # what the engine records itself is never moved
        (
            [("scheduled", 7, None), ("front_written", 180, {"bytes": 9})],
            [("received", 2), ("queued", 3), ("running", 7)],
        ),
    ],
)  # fmt: skip
def test_content_that_the_front_end_wrote_had_been_scheduled(
    events: list[tuple[str, float, Any]], states: list[tuple[str, float]]
) -> None:
    record = [("front_received", 2, None), ("queued", 3, None), *events]

    rows = interpretation(completed(), [server(name, t, value=value) for name, t, value in record])

    ledger = rows["ledgers"]["server"]
    assert [(r["state"], (r["from_ns"] or 0) / MS) for r in ledger] == states
    inferred = [r["detail"] for r in ledger if r["state"] == "running" and r["from_ns"] != 7 * MS]
    assert all(str(detail).startswith("inferred: content was written") for detail in inferred)


def test_a_server_state_after_its_terminal_one_is_not_a_new_life() -> None:
    events = [server("server.completed", 20), server("engine.scheduled", 30)]

    rows = interpretation(completed(), events)["ledgers"]["server"]

    assert [r["state"] for r in rows] == ["completed"]


def test_an_unknown_server_state_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        BadRecord, match=r"events\.jsonl:1 value: 'busy' \(allowed: received, queued"
    ):
        interpretation(completed(), [server("server.state", 5, value="busy")])


@pytest.mark.req("1.14", "1.15")
def test_a_contract_among_the_events_judges_the_task() -> None:
    contract = {"name": "quick", "deadline_s": 0.005}
    event = server("task.contract", 0, value=contract)

    document = interpretation(completed(), [event])

    assert document["contract"]["name"] == "quick"
    task = final_rows(document["ledgers"]["task"])["T"]
    assert task["state"] == "failure"
    assert "after the deadline" in str(task["detail"])


@pytest.mark.req("1.14")
@pytest.mark.forbids
def test_a_contract_event_after_the_first_attempt_is_refused() -> None:
    late = server("task.contract", 2, value={"name": "late"})

    with pytest.raises(ClaimRefused, match="stored before the run"):
        interpretation(completed(), [late])


@pytest.mark.req("1.02")
def test_one_session_may_hold_many_tasks_and_is_no_ledger_subject() -> None:
    other = {**IDS, "task_id": "U", "request_id": "q"}
    document = interpretation(
        [*completed("a"), row("sent", 50, "b", **other), row("timeout", 60, "b")]
    )

    outcomes = {k: r["state"] for k, r in final_rows(document["ledgers"]["task"]).items()}
    assert outcomes == {"T": "success", "U": "failure"}
    subjects = {
        r["subject_type"] for ledger in ("client", "task") for r in document["ledgers"][ledger]
    }
    assert "session" not in subjects


@pytest.mark.req("1.01", "1.04")
def test_an_event_of_a_request_is_of_its_attempt_only_if_there_is_one() -> None:
    by_request = server("server.completed", 20) | {"attempt_id": None, "request_id": "r"}
    retry = [row("sent", 30, "b", request_id="r", retry_of="a"), row("timeout", 40, "b")]

    once = interpretation(completed(), [by_request])["ledgers"]["server"]
    twice = interpretation([*completed(), *retry], [by_request])["ledgers"]["server"]

    assert [r["state"] for r in once] == ["completed"]
    assert [r["state"] for r in twice] == ["undetermined", "undetermined"]
