"""From a bundle's own files to what is said of its resources."""

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.archive.interpretation import interpret
from runners.protocol import layout, tables
from tests.assay.archive import interpretable
from tests.assay.archive.interpretable import at


def telemetry(*rows: tuple[float, str, int | None, str, float]) -> bytes:
    """(ms, subject, pid, metric, value)"""
    table = pa.Table.from_pylist(
        [
            {"t_ns": at(ms), "subject": subject, "pid": pid, "metric": metric, "value": value, "unit": "1"}
            for ms, subject, pid, metric, value in rows
        ],
        schema=tables.TELEMETRY,
    )  # fmt: skip
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def resources(folder: Path, **changes: Any) -> dict[str, Any]:
    interpretable.build(folder / "bundle", **changes)
    path = interpret(folder / "bundle", folder / "derived")
    found: dict[str, Any] = json.loads(path.read_bytes())["resources"]
    return found


PHASES = (
    {"event": "phase_start", "phase": "warmup", "t_ns": at(-5)},
    {"event": "phase_end", "phase": "warmup", "t_ns": at(95)},
    {"event": "phase_start", "phase": "measure", "t_ns": at(100)},
    {"event": "phase_end", "phase": "drain", "t_ns": at(400)},
)


@pytest.mark.req("12.08", "12.11", "12.03")
def test_a_bundles_telemetry_is_read_by_phase(tmp_path: Path) -> None:
    rows = telemetry(
        (-50, "engine", 7, "rss_bytes", 100.0),
        (10, "engine", 7, "rss_bytes", 300.0),
        (150, "engine", 7, "rss_bytes", 400.0),
        (250, "engine", 7, "rss_bytes", 500.0),
        (450, "engine", 7, "rss_bytes", 9999.0),
        (150, "engine", 7, "page_faults", 10.0),
        (250, "engine", 7, "page_faults", 14.0),
        (150, "host", None, "available_bytes", 8e9),
        (250, "host", None, "available_bytes", 6e9),
    )
    facts = {"memory_total_bytes": {"value": 2**34, "unit": "byte", "source": "kernel"}}

    found = resources(
        tmp_path,
        **{layout.SESSION: interpretable.session(*PHASES)},
        more={
            layout.TELEMETRY: rows,
            layout.HOST: json.dumps({"facts": facts}).encode(),
        },
    )

    memory = {(r["phase"], r["calibre"]): r["max_bytes"] for r in found["memory_by_phase"]}
    assert memory["load", "device"] == 100.0
    assert memory["warm_up", "device"] == 300.0
    # 9999 came after the drain
    assert memory["steady", "device"] == 500.0
    # the engine named 8 blocks of 4096 B at 1 ms, in the warm-up
    assert memory["warm_up", "allocated"] == 8 * 4096
    costs = {row["cost"]: row for row in found["host_costs"]}
    assert costs["page faults of the engine"]["total"] == 4.0
    # received 102 and 302, queued one ms later each
    assert costs["preprocessing"]["median"] == pytest.approx(1e-3)
    # step 2 ends the first gap: 110 + 20 to 195; the load's steps follow without one
    assert costs["batch assembly and scheduling"]["n"] == 3
    shared = {row["item"]: row["observed"] for row in found["sharing"]}
    assert shared["memory is shared with every process of the host; least available"] == 6e9


def test_a_bundle_without_telemetry_says_so_everywhere(tmp_path: Path) -> None:
    found = resources(tmp_path)

    assert all(row["reason"] for row in found["entries"])
    devices = [row for row in found["memory_by_phase"] if row["calibre"] == "device"]
    assert [row["max_bytes"] for row in devices] == [None, None, None]
