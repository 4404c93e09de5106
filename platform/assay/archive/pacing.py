"""What the plan of a bundle says of when each request was to be sent."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from assay.analysis.wire.unscheduled import Unscheduled
from assay.archive.parquet_columns import read_columns
from runners.protocol import layout

_COLUMNS = ("request_id", "segment", "offset_ns", "after")


class Pacing:
    """Holds the names of the requests that follow others, and of the segments that nothing paced by time."""

    def __init__(self, folder: Path) -> None:
        self._following: frozenset[str] = frozenset()
        self._closed: frozenset[str] = frozenset()
        path = folder / layout.PLAN
        if not path.is_file():
            return
        there = pq.read_schema(path).names  # a plan of an earlier version knows no followers
        plan = read_columns(path, [name for name in _COLUMNS if name in there])
        if "after" in there:
            follows = pc.greater(pc.fill_null(pc.list_value_length(plan["after"]), 0), 0)
            self._following = frozenset(plan.filter(follows)["request_id"].to_pylist())
        timed = plan.filter(pc.is_valid(plan["offset_ns"]))
        self._closed = frozenset(
            set(pc.unique(plan["segment"]).to_pylist())
            - set(pc.unique(timed["segment"]).to_pylist())
        )

    def unscheduled(self, attempt: Mapping[str, Any]) -> Unscheduled:
        """Why an attempt (a row of its table) has no scheduled time, if it has none."""
        if attempt["request_id"] in self._following:
            return Unscheduled.follows
        if attempt["segment"] in self._closed:
            return Unscheduled.closed_loop
        is_retry = attempt["retry_of"] is not None
        return Unscheduled.tried_again if is_retry else Unscheduled.not_recorded
