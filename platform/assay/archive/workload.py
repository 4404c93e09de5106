"""The workload of a bundle: its plan's requests, and the inputs that were made while the run went."""

from typing import Any

import pyarrow.parquet as pq

from assay.analysis.structures.planned import WorkloadFacts, has_structure, workload_facts
from assay.archive.parquet_columns import read_columns
from assay.archive.readers import Bundle
from runners.protocol import layout

_PLAN_COLUMNS = (
    *("phase", "request_id", "task_id", "session_id", "input_tokens", "step", "turn", "branch"),
    *("is_required", "after", "after_delay_ns", "dependency", "history_tokens", "on_reply"),
)
_CONTENT = ("messages", "expanded", "token_ids")


def workload_of(bundle: Bundle) -> WorkloadFacts | None:
    """None for a bundle without a plan, or with one of single requests of which nothing more is asked."""
    spec = bundle.document(layout.SPEC) or {}
    if not has_structure(spec.get("workload") or {}):
        return None
    plan = _rows(bundle, layout.PLAN, wanted=_PLAN_COLUMNS)
    if plan is None:
        return None
    sent = _rows(bundle, layout.SENT_INPUTS, without=_CONTENT)
    return workload_facts(spec, plan, sent or (), origin_ns=bundle.origin_ns)


def _rows(
    bundle: Bundle, name: str, *, wanted: tuple[str, ...] = (), without: tuple[str, ...] = ()
) -> list[dict[str, Any]] | None:
    """Rows of a table by those columns that it has; None if the bundle lacks it (or it is withheld)."""
    path = bundle.folder / name
    if not path.is_file():
        return None
    there = pq.read_schema(path).names
    columns = [n for n in there if n not in without and (not wanted or n in wanted)]
    found: list[dict[str, Any]] = read_columns(path, columns).to_pylist()
    return found
