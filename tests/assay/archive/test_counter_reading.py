"""From a bundle's scrapes and its map of series to what the counters said beside the engine's own record."""

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.archive.interpretation import interpret
from runners.protocol import layout, series, tables
from runners.protocol.series import Kind, Quantity, Series
from tests.assay.archive import interpretable
from tests.assay.archive.interpretable import at

KNOWN = {
    Quantity.running: Series(name="running", kind=Kind.gauge, unit="request"),
    Quantity.finish_reasons: Series(
        name="done_total", kind=Kind.counter, unit="request", label="reason"
    ),
    Quantity.aborts: Series(
        name="done_total",
        kind=Kind.counter,
        unit="request",
        where={"reason": "abort"},
        caution="disconnects are not counted",
    ),
}
PHASES = (
    {"event": "phase_start", "phase": "measure", "t_ns": at(100)},
    {"event": "phase_end", "phase": "drain", "t_ns": at(400)},
)


def scrapes(*rows: tuple[float, float, float]) -> bytes:
    """(ms, running, done)"""
    table = pa.Table.from_pylist(
        [
            {
                "t_ns": at(ms),
                "duration_ns": 1_000_000,
                "source": "/metrics",
                "status": 200,
                "body": f'running {running}\ndone_total{{reason="length"}} {done}\n',
                "error": None,
            }
            for ms, running, done in rows
        ],
        schema=tables.SCRAPES,
    )
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def reading(folder: Path, body: bytes, *, with_map: bool = True) -> dict[str, Any]:
    more = {layout.SCRAPES: body}
    if with_map:
        document = {"path": "/metrics", "series": series.document(KNOWN)}
        more[layout.SERIES] = json.dumps(document).encode()
    interpretable.build(
        folder / "bundle", **{layout.SESSION: interpretable.session(*PHASES)}, more=more
    )
    found: dict[str, Any] = json.loads(
        interpret(folder / "bundle", folder / "derived").read_bytes()
    )
    return found


@pytest.mark.req("8.05")
def test_counters_stand_beside_the_record_and_a_difference_is_in_the_reconciliation(
    tmp_path: Path,
) -> None:
    # the record shows the load's end and that the case was cancelled; the counter grew by one
    found = reading(tmp_path, scrapes((-20, 0, 5), (150, 1, 5), (320, 3, 5), (900, 0, 6)))

    checks = {check["fact"]: check for check in found["counters"]["checks"]}
    assert (checks["completed"]["recorded"], checks["completed"]["counted"]) == (1, 1)
    assert checks["completed"]["verdict"] == "agree"
    assert (checks["cancelled"]["recorded"], checks["cancelled"]["counted"]) == (1, 0)
    (line,) = [x for x in found["reconciliation"]["differences"] if "disconnects" in x]
    assert line.startswith("server, cancelled: the record shows 1, the counter 0")


def test_a_gauge_is_read_in_the_measured_phase(tmp_path: Path) -> None:
    found = reading(tmp_path, scrapes((-20, 9, 5), (150, 1, 6), (320, 3, 6), (900, 0, 7)))

    gauges = {row["quantity"]: row for row in found["counters"]["series"]}
    assert (gauges["running"]["min"], gauges["running"]["mean"], gauges["running"]["max"]) == (
        1.0,
        2.0,
        3.0,
    )
    # 5 before the phase, 6 at its last scrape
    assert gauges["finish_reasons"]["grown"] == 1.0


def test_without_a_map_of_series_nothing_is_said_of_scrapes(tmp_path: Path) -> None:
    assert reading(tmp_path, scrapes((150, 1, 6)), with_map=False)["counters"] is None
