"""A cancelled request: four ledgers, ghost load, five checks, four release levels."""

from typing import Any

import pytest

from assay.analysis.ledgers.at import final_rows
from assay.analysis.ledgers.resource import ProcessRelease
from assay.analysis.wire.attempt import Attempt
from tests.assay.analysis.engine import (
    CLIENT,
    EngineLog,
    Reading,
    cancelled_in_decode,
    part,
)
from tests.assay.analysis.streams import MS, attempts, delta, read, row


def cancelled(*, at_ms: float = 100) -> list[Attempt]:
    ids = {"task_id": "T", "request_id": "r"}
    return attempts(
        row("created", 0, **ids), row("sent", 1), read(33, delta("x")), row("cancel", at_ms)
    )


def checks(document: Any) -> dict[str, tuple[str, str | None]]:
    return {c["check"]: (c["result"], c["value"]) for c in document["cancel_checks"]}


@pytest.mark.req("8.01", "8.03", "8.04")
def test_client_and_server_ledgers_are_cancelled_each_by_its_own_record() -> None:
    document = Reading(cancelled_in_decode(), cancelled()).document()

    client = final_rows(document["ledgers"]["client"])["a"]
    server = [r for r in document["ledgers"]["server"] if r["subject"] == "a"]

    assert (client["state"], client["from_ns"]) == ("cancelled", 100 * MS)
    assert client["evidence"] == "wire.jsonl:4"
    assert [r["state"] for r in server] == ["received", "queued", "running", "cancelled"]
    # The cancelled row is the 19th line of the log built above.
    assert (server[-1]["from_ns"], server[-1]["evidence"]) == (
        115 * MS,
        "engine_events.jsonl:19",
    )
    assert server[-1]["detail"] == "client disconnected"


@pytest.mark.req("8.21", "8.23", "8.25")
def test_ghost_load_is_split_by_evidence() -> None:
    (ghost,) = Reading(cancelled_in_decode(), cancelled()).document()["ghost_load"]

    # 100 to 116 ms; the step of 95..115 covers 15 ms of it; 4 blocks are held for all 16 ms, 1 ms beyond it.
    assert ghost["total_ns"] == 16 * MS
    assert ghost["computing_ns"] == 15 * MS
    assert ghost["queueing_ns"] == 0
    assert ghost["holding_ns"] == 1 * MS
    # 8 blocks of 4096 bytes were allocated: 4 x 4096 bytes x 0.016 s = 262.144 byte s.
    assert ghost["kv_byte_s"] == pytest.approx(4 * 4096 * 0.016)
    assert ghost["error_ns"] == 0


@pytest.mark.req("8.10", "8.11", "8.12")
def test_five_checks_of_a_clean_cancellation() -> None:
    found = checks(Reading(cancelled_in_decode(), cancelled()).document())

    assert list(found) == [
        "cancel_received",
        "no_new_work",
        "submitted_work_ended",
        "output_suppressed",
        "resources_recycled",
    ]
    assert {result for result, _ in found.values()} == {"held"}
    # The client left at 100 ms.
    assert found["cancel_received"][1] == "front end +2.000 ms, model loop +15.000 ms"
    assert found["submitted_work_ended"][1] == "its last iteration ended +15.000 ms, cancelled"
    assert found["resources_recycled"][1] == (
        "computing_stopped +15.000 ms, blocks_dropped +16.000 ms, blocks_reusable +16.000 ms; "
        "unknown: process_returned"
    )


@pytest.mark.req("8.11")
def test_a_step_that_begins_after_the_cancel_is_new_work() -> None:
    log = cancelled_in_decode()
    log.step(120, 10, part("a", 1, 1, 40, phase="decode"), number=9)

    found = checks(Reading(log, cancelled()).document())

    assert found["no_new_work"] == (
        "not held",
        "1 iteration(s) began after the loop took the cancel",
    )


def test_a_write_after_the_disconnect_is_output_that_was_not_suppressed() -> None:
    log = cancelled_in_decode()
    log.add("front_written", 110, "a", bytes=1, chunk=2, part="body")

    found = checks(Reading(log, cancelled()).document())

    assert found["output_suppressed"][0] == "not held"


@pytest.mark.req("8.12", "8.15")
@pytest.mark.req("8.09")
@pytest.mark.forbids
def test_without_a_server_record_nothing_is_evidenced() -> None:
    document = Reading(EngineLog(), cancelled()).document()

    assert {result for result, _ in checks(document).values()} == {"not evidenced"}
    assert final_rows(document["ledgers"]["server"])["a"]["state"] == "undetermined"
    assert final_rows(document["ledgers"]["resource"])["a"]["state"] == "unknown"
    assert document["ghost_load"][0]["total_ns"] is None
    assert document["ghost_load"][0]["absent"]


@pytest.mark.req("8.09")
@pytest.mark.forbids
def test_the_front_end_s_notice_alone_is_no_clean_up() -> None:
    log = EngineLog()
    log.add("front_received", 2, "a")
    log.add("front_disconnected", 102, "a")

    document = Reading(log, cancelled()).document()

    found = checks(document)
    assert found["cancel_received"][0] == "held"
    assert found["no_new_work"][0] == "not evidenced"
    assert found["resources_recycled"][0] == "not evidenced"
    assert final_rows(document["ledgers"]["server"])["a"]["state"] == "received"


@pytest.mark.req("8.13", "8.15")
def test_release_levels_are_reached_one_by_one_each_with_its_evidence() -> None:
    process = ProcessRelease(t_ns=900 * MS, clock_domain=CLIENT, evidence="session.jsonl:12")

    document = Reading(cancelled_in_decode(), cancelled()).document(process_release=process)

    rows = [r for r in document["ledgers"]["resource"] if r["subject"] == "a"]
    assert [(r["state"], r["detail"], r["from_ns"] / MS) for r in rows] == [
        ("held", None, 10),
        ("released", "computing_stopped", 115),
        ("released", "blocks_dropped", 116),
        ("released", "blocks_reusable", 116),
        ("released", "process_returned", 900),
    ]
    assert rows[-1]["evidence"] == "session.jsonl:12"


@pytest.mark.req("8.14")
@pytest.mark.forbids
def test_a_memory_reading_proves_no_release() -> None:
    log = EngineLog()
    log.add("front_received", 2, "a")
    log.add("memory", 200, process="loop", rss_bytes=1, kv_bytes_allocated=0)

    document = Reading(log, cancelled()).document()

    assert final_rows(document["ledgers"]["resource"])["a"]["state"] == "unknown"


def test_blocks_given_back_by_a_preemption_are_no_final_release() -> None:
    log = EngineLog()
    log.add("queued", 1, "a")
    log.add("scheduled", 2, "a")
    log.add("kv_taken", 2, "a", blocks=2, used=2, total=8)
    log.add("preempted", 10, "a", computed=3)
    log.add("kv_released", 10, "a", blocks=2, used=0, total=8, level="blocks_reusable")
    log.add("scheduled", 20, "a")
    log.add("kv_taken", 20, "a", blocks=2, used=2, total=8)

    document = Reading(log, cancelled()).document()

    rows = [r for r in document["ledgers"]["resource"] if r["subject"] == "a"]
    assert [r["state"] for r in rows] == ["held"]


def test_a_completed_attempt_has_neither_checks_nor_ghost_load() -> None:
    done = attempts(row("sent", 0), read(5, delta("x", finish="stop")), row("closed", 5))

    document = Reading(EngineLog(), done).document()

    assert document["cancel_checks"] == []
    assert document["ghost_load"] == []
