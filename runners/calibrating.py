"""Measure the client's own error before the engine is there, so that its cores are free.

A calibration that cannot be had costs the run nothing but this knowledge: it says so.
"""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from runners.evidence.record import Record
from runners.halting import Halts
from runners.load.self_calibration import calibrate, streams_at_once
from runners.protocol import layout
from runners.protocol.errors import EnvironmentLacks
from runners.protocol.workspace import Workspace


async def calibrate_client(
    workspace: Workspace, record: Record, halts: Halts, *, cache: Path | None
) -> dict[str, Any]:
    """``client_error.self_calibration`` of ``clocks.json``, at the concurrency of this run's plan."""
    if not record.spec["evidence"]["calibrate_client"]:
        return {"absent": "evidence.calibrate_client is false"}
    streams = streams_at_once(pq.ParquetFile(workspace.bundle / layout.PLAN).read().to_pylist())
    record.tell("launch", f"the load client alone, {streams} streams at once")
    cores = record.spec["device"]["placement"]["engine_cores"]
    try:
        return await halts.until(calibrate(streams, cache=cache, server_cores=cores))
    except EnvironmentLacks as error:
        return {"absent": str(error)}
