"""Counters of a bundle's telemetry, read column by column: a run may hold millions of samples."""

from typing import Any

import polars as pl

from assay.archive.readers import Bundle
from runners.protocol import layout

_COLUMNS = ("t_ns", "subject", "pid", "metric", "value")


def cpu_counters(bundle: Bundle) -> list[dict[str, Any]]:
    """CPU-time counters of host and processes in order of time; empty if no telemetry was captured.

    Times count from the run's origin, as those of attempts and steps do.
    """
    path = bundle.folder / layout.TELEMETRY
    if not path.exists():
        return []
    table = (
        pl.scan_parquet(path)
        .select(_COLUMNS)
        .with_columns(pl.col("t_ns") - bundle.origin_ns)
        .filter(pl.col("metric").str.starts_with("cpu_"))
        .sort("t_ns", maintain_order=True)
        .collect()
    )
    return table.to_dicts()
