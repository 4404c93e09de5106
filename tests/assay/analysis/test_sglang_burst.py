"""The recorded burst of SGLang: six clients' bytes and the server's log, read into four ledgers.

What is true of it stands in the recording's README and ``ground_truth.json``.
"""

import json
from typing import Any

import pytest

from assay.analysis.engine_events import EngineEventReader
from assay.analysis.interpretation import Inputs, interpret
from assay.analysis.iterations import IterationLog
from assay.analysis.ledgers.at import final_rows
from assay.analysis.server_record import ServerRecords
from runners.protocol.events import ClientState, ReleaseState, ServerState, TaskOutcome
from tests.assay.analysis import recorded_engines, streams
from tests.runners.engines.sglang import recorded

ENGINE = "sglang-0.5.23-cpu"
NAMES = (
    "r1_stream_normal",
    "r2_stream_aborted_decode",
    "r3_stream_token_ids",
    "r4_stream_aborted_queued",
    "r5_nonstream",
    "r6_error_too_long",
)


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Wire and log are stamped by one monotonic clock: the recording was made on one machine."""
    rows = [
        row | {"attempt_id": name, "request_id": name, "task_id": name}
        for name in NAMES
        for row in recorded_engines.rows(ENGINE, f"http/{name}")
    ]
    attempts = streams.attempts(*(row | {"clock_domain": recorded.DOMAIN} for row in rows))
    log = recorded.log("startup.log", "requests_burst.log")
    printed = recorded.printed(tmp_path_factory.mktemp("bundle"), log)
    records = ServerRecords(a.attempt_id for a in attempts)
    iterations = IterationLog({a.attempt_id: None for a in attempts})
    reader = EngineEventReader(file="engine_events.jsonl", client_domain=recorded.DOMAIN)
    for event in reader.records(json.dumps(row).encode() for row in printed.rows):
        records.take(event)
        iterations.take(event, records)
    records.settle()
    return interpret(Inputs(attempts=attempts, records=records, iterations=iterations))


def ended(document: Any, ledger: str) -> dict[str, str]:
    return {name: row["state"] for name, row in final_rows(document["ledgers"][ledger]).items()}


def test_what_the_six_clients_did(document: Any) -> None:
    assert ended(document, "client") == {
        "r1_stream_normal": ClientState.completed,
        "r2_stream_aborted_decode": ClientState.cancelled,
        "r3_stream_token_ids": ClientState.completed,
        "r4_stream_aborted_queued": ClientState.cancelled,
        "r5_nonstream": ClientState.completed,
        "r6_error_too_long": ClientState.failed,
    }


@pytest.mark.req("8.04")
def test_what_the_server_did_and_no_more_than_it_said(document: Any) -> None:
    # of r4 and r6 it printed their reception alone
    assert ended(document, "server") == {
        "r1_stream_normal": ServerState.completed,
        "r2_stream_aborted_decode": ServerState.cancelled,
        "r3_stream_token_ids": ServerState.completed,
        "r4_stream_aborted_queued": ServerState.received,
        "r5_nonstream": ServerState.completed,
        "r6_error_too_long": ServerState.received,
    }


def test_the_server_ended_a_left_request_later_than_its_client(document: Any) -> None:
    client = final_rows(document["ledgers"]["client"])["r2_stream_aborted_decode"]
    server = final_rows(document["ledgers"]["server"])["r2_stream_aborted_decode"]

    # left at wall 1795979241.445, done at entry 1795979233.485 + 1.52 ms + 12573.34 ms: 4.615 s later
    assert client["from_ns"] is not None
    assert server["from_ns"] is not None
    assert (server["from_ns"] - client["from_ns"]) / 1e9 == pytest.approx(4.615, abs=0.01)


def test_tasks_are_judged_by_what_their_clients_got(document: Any) -> None:
    whole = {"r1_stream_normal", "r3_stream_token_ids", "r5_nonstream"}

    assert ended(document, "task") == {
        name: TaskOutcome.success if name in whole else TaskOutcome.failure for name in NAMES
    }


def test_nothing_shows_what_was_held(document: Any) -> None:
    # this log's step lines have no usable time: no release can be placed
    assert set(ended(document, "resource").values()) == {ReleaseState.unknown}
