"""What the engine of a run did inside: its start by source, its paths by state, its shapes by outcome."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from assay.analysis.claims.cache_key import CacheKey, cache_key
from assay.analysis.claims.cold_start import ColdStart, cold_start
from assay.analysis.claims.dispatch import (
    Dispatch,
    GraphSetting,
    Outcome,
    dispatches,
    outcome_shares,
)
from assay.analysis.claims.graph_setting import graph_setting
from assay.analysis.claims.kernel_paths import KernelPath, kernel_paths
from assay.analysis.errors import BadRecord
from assay.archive.engine_rows import engine_rows
from assay.archive.readers import Bundle
from assay.pages.contexts.head import RunHead
from runners.protocol import layout
from runners.protocol.documents import IdentityItem, SwitchNote, VersionNotesDocument
from runners.protocol.events import EngineEvent, SessionEvent

START_PART, SHAPE_DISPATCH = "start_part", "shape_dispatch"
_NS_PER_S = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginePaths:
    """``notes`` is None for a run that was prepared before switches were read."""

    paths: list[KernelPath]
    start: ColdStart
    shapes: list[Dispatch]
    shares: dict[Outcome, float]
    shapes_problem: str
    cache: CacheKey
    notes: VersionNotesDocument | None
    used: list[SwitchNote]


def engine_paths(head: RunHead, items: Sequence[IdentityItem]) -> EnginePaths | None:
    """None where the run left no bundle."""
    if head.folder is None:
        return None
    bundle = Bundle(head.folder.folder)
    rows = list(engine_rows(bundle.folder, START_PART, SHAPE_DISPATCH, EngineEvent.config))
    by_name = {item["item"]: item for item in items}
    shapes, problem = _shapes(rows, graph_setting(by_name.get("graph_compile_mode")))
    notes = cast("VersionNotesDocument | None", bundle.document(layout.VERSION_NOTES))
    return EnginePaths(
        paths=kernel_paths(items),
        start=cold_start(
            _start_parts(rows), ready_s=_ready_s(bundle), bound_to=_bound_to(head, by_name)
        ),
        shapes=shapes,
        shares=outcome_shares(shapes),
        shapes_problem=problem,
        cache=cache_key(head.spec),
        notes=notes,
        used=[switch for switch in notes["switches"] if switch["used"]] if notes else [],
    )


def _start_parts(rows: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Parts that have rows of their own, and those that an engine tells in its configuration."""
    for row in rows:
        if row["event"] == START_PART:
            yield row
        times = row.get("load_times") or (row.get("value") or {}).get("load_times")
        if row["event"] == EngineEvent.config and isinstance(times, Mapping):
            for part, seconds in times.items():
                yield {"part": part, "duration_s": seconds, "source": row["source"]}


def _shapes(rows: Sequence[Mapping[str, Any]], setting: GraphSetting) -> tuple[list[Dispatch], str]:
    counted = [row for row in rows if row["event"] == SHAPE_DISPATCH]
    if not counted:
        return [], "the engine counted no shapes"
    try:
        return dispatches(counted, setting), ""
    except BadRecord as problem:
        return [], str(problem)


def _ready_s(bundle: Bundle) -> float | None:
    """From the launch until the engine first answered; both on the client's clock."""
    at = {row.event: row.t_ns for row in reversed(bundle.session())}
    launch, ready = at.get(SessionEvent.launch), at.get(SessionEvent.ready)
    return None if launch is None or ready is None else (ready - launch) / _NS_PER_S


def _bound_to(head: RunHead, items: Mapping[str, IdentityItem]) -> dict[str, Any]:
    graphs = items.get("graph_compile_mode")
    ran = graphs["ran"] if graphs and isinstance(graphs["ran"], Mapping) else {}
    return {
        "engine version": f"{head.run.engine_key} {head.run.engine_version}",
        "model revision": head.spec.get("artifact", {}).get("revision"),
        "launch configuration": head.run.spec_digest[:12],
        "captured sizes": ran.get("compilation.cudagraph_capture_sizes"),
        "device": head.run.device_name,
    }
