"""A time from the schedule that is missing names the reason that the plan shows."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.archive.interpretation import interpret
from assay.archive.pacing import Pacing
from runners.protocol import layout
from runners.protocol.tables import PLAN
from tests.assay.archive import interpretable, written

LOAD = {"request_id": "load-0001", "phase": "measure", "segment": "load"}
FOLLOWER = LOAD | {"request_id": "load-0001.t2", "after": ["load-0001"]}


def attempt(request_id: str, *, segment: str = "load", retry_of: str | None = None) -> Any:
    return {"request_id": request_id, "segment": segment, "retry_of": retry_of}


@pytest.mark.parametrize(
    ("offset_ns", "asked", "reason"),
    [
        (None, attempt("load-0001"), "closed loop"),
        (None, attempt("load-0001", retry_of="load-0001.A1"), "closed loop"),
        (None, attempt("load-0001.t2"), "it follows another request"),
        (0, attempt("load-0001.t2"), "it follows another request"),
        (0, attempt("load-0001", retry_of="load-0001.A1"), "another try of its request"),
        (0, attempt("load-0001"), "no schedule was recorded"),
        (0, attempt("cases-0001", segment="cases"), "closed loop"),
    ],
)
def test_the_reason_is_that_of_the_request(
    offset_ns: int | None, asked: Any, reason: str, tmp_path: Path
) -> None:
    case = {"request_id": "cases-0001", "phase": "measure", "segment": "cases"}
    rows = [case, LOAD | {"offset_ns": offset_ns}, FOLLOWER]
    pq.write_table(pa.Table.from_pylist(rows, schema=PLAN), tmp_path / layout.PLAN)

    assert Pacing(tmp_path).unscheduled(asked).startswith(reason)


def test_a_plan_of_an_earlier_version_and_none_at_all_are_read(tmp_path: Path) -> None:
    columns = ["request_id", "segment", "offset_ns"]
    table = pa.Table.from_pylist([LOAD], schema=PLAN).select(columns)
    assert Pacing(tmp_path).unscheduled(attempt("load-0001")).startswith("no schedule")

    pq.write_table(table, tmp_path / layout.PLAN)

    assert Pacing(tmp_path).unscheduled(attempt("load-0001")).startswith("closed loop")


def test_a_reading_names_it_for_time_and_latency_alike(tmp_path: Path) -> None:
    rows = [row | {"after": ["cases-0001"]} for row in interpretable.plan()]
    interpretable.build(tmp_path / "bundle", **{layout.PLAN: rows})

    reading = written.read(interpret(tmp_path / "bundle", tmp_path / "derived").parent)

    load = next(a for a in reading["attempts"] if a["attempt_id"] == "load-0001.A1")
    why = load["metrics"]["latency.from_scheduled"]["absent"]
    assert why == load["absent"]["timestamps_ns.scheduled"]
    assert why.startswith("it follows another request")
