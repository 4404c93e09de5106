"""Readings of a bundle's telemetry, on the run's own time."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from assay.analysis.resources.readings import Reading
from assay.archive.parquet_columns import read_columns
from assay.archive.readers import Bundle
from runners.protocol import layout

_COLUMNS = ("t_ns", "subject", "pid", "metric", "value")


def readings_of(source: Bundle, metrics: Iterable[str]) -> list[Reading]:
    """Those of these metrics, in the order in which they were taken; none without telemetry."""
    path = source.folder / layout.TELEMETRY
    if not path.is_file():
        return []
    table = read_columns(path, _COLUMNS)
    wanted = pc.is_in(table["metric"], value_set=pa.array(list(metrics), pa.string()))
    rows: list[dict[str, Any]] = table.filter(wanted).to_pylist()
    return [Reading(**{**row, "t_ns": row["t_ns"] - source.origin_ns}) for row in rows]
