"""CPU counters of a bundle, in the time of its steps and attempts."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from assay.archive.readers import Bundle
from assay.archive.telemetry import cpu_counters
from runners.protocol import layout, tables
from tests.assay.archive import interpretable


def test_counters_count_from_the_runs_origin_and_in_order(tmp_path: Path) -> None:
    def row(ms: float, subject: str, metric: str, value: float) -> dict[str, object]:
        t_ns = interpretable.at(ms)
        return {"t_ns": t_ns, "subject": subject, "pid": None, "metric": metric, "value": value}

    rows = [
        row(20, "host", "cpu_user_s", 2.0),
        row(10, "host", "cpu_user_s", 1.0),
        row(10, "engine", "rss_bytes", 5.0),
    ]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=tables.TELEMETRY), sink)
    interpretable.build(tmp_path / "bundle", more={layout.TELEMETRY: sink.getvalue().to_pybytes()})

    found = cpu_counters(Bundle(tmp_path / "bundle"))

    assert [(row["t_ns"], row["value"]) for row in found] == [(10_000_000, 1.0), (20_000_000, 2.0)]


def test_a_bundle_without_telemetry_has_no_counters(tmp_path: Path) -> None:
    interpretable.build(tmp_path / "bundle")

    assert cpu_counters(Bundle(tmp_path / "bundle")) == []
