"""The engine's own record of a run, read out of what it printed: requests, iterations, start, graph use.

Times are the engine's printed ones, carried onto the client's clock by anchors of both; the error says how
far that can be off. Iterations name no request, so nothing here says when a request was scheduled.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from runners.engines.base import Printed, PrintedContext
from runners.engines.stated_facts import Fact, LogLine, absent, facts_of
from runners.engines.vllm import iteration_lines, log_reader, request_lines
from runners.engines.vllm.log_lines import RESOLUTION_NS, read_lines
from runners.protocol import layout
from runners.protocol.clock_map import ClockMap
from runners.protocol.documents import Gap
from runners.protocol.events import EngineEvent, ReleaseLevel
from runners.protocol.workspace import json_lines

PROCESS = "printed"
_START_PARTS = {
    "model_built": "model",
    "weights_loaded": "weights",
    "compiled": "compilation",
    "graph_capture": "capture",
    "initialised": "profile, KV cache and warm-up",
}
_ENDS = (EngineEvent.cancelled, EngineEvent.failed, EngineEvent.rejected, EngineEvent.finished)
_Row = dict[str, Any]


def read(context: PrintedContext) -> Printed:
    """Rows for the bundle's event log; none for a log without one line of the known form."""
    lines = list(read_lines(context.bundle / layout.ENGINE_LOG))
    timed = [line for line in lines if line.wall_ns is not None]
    clock = ClockMap.of(context.anchors)
    if not timed or clock is None:
        return Printed(gaps=[_no_times(lines)])
    witnessed = _witnessed(context.bundle / layout.ENGINE_EVENTS)
    reader = _Reader(clock, blocks=_blocks(context.server_info), witnessed=witnessed)
    rows = [row for line in timed for row in reader.rows(line)]
    facts = facts_of(lines, log_reader.FORMS)
    rows += _start_parts(facts, timed, clock)
    rows.sort(key=lambda row: row["t_ns"])
    first = {
        "event": EngineEvent.clock.value,
        "t_ns": rows[0]["t_ns"] if rows else clock.monotonic(timed[0].wall_ns or 0).t_ns,
        "clock_domain": context.clock_domain,
        "process": PROCESS,
    }
    return Printed(rows=[first, *rows], gaps=[*_gaps(facts, reader), _unscheduled()])


class _Reader:
    """Goes through the lines once. ``misread`` counts iteration lines whose form is not known."""

    def __init__(
        self, clock: ClockMap, *, blocks: int | None, witnessed: Mapping[str, set[str]]
    ) -> None:
        self._clock = clock
        self._witnessed = witnessed
        self._blocks = blocks
        self._ended: list[str] = []  # requests that ended and may still hold blocks
        self.iterations = self.misread = 0

    def rows(self, line: LogLine) -> Iterator[_Row]:
        for event, request, value in request_lines.events_of(line):
            if event.value not in self._witnessed.get(request, ()):
                yield self._row(line, event.value, request=request, **value)
            if event in _ENDS:
                self._ended.append(request)
        if (step := iteration_lines.iteration(line.message, blocks=self._blocks)) is not None:
            self.iterations += 1
            row = self._row(line, EngineEvent.iteration.value, **step)
            yield row | {"t_ns": row["t_ns"] - step["duration_ns"]}
            if step.get("kv_used") == 0:
                yield from self._released(line)
        elif iteration_lines.is_iteration(line.message):
            self.misread += 1
        elif (used := iteration_lines.dispatch(line.message)) is not None:
            yield self._row(line, "shape_dispatch", **used)

    def _released(self, line: LogLine) -> Iterator[_Row]:
        """No block is in use: whatever ended before holds none, and free blocks may be taken again."""
        for request in dict.fromkeys(self._ended):
            for level in (ReleaseLevel.blocks_dropped, ReleaseLevel.blocks_reusable):
                yield self._row(line, "released", request=request, value=level.value)
        self._ended.clear()

    def _row(self, line: LogLine, event: str, **fields: Any) -> _Row:
        return _row(self._clock, line, event, **fields)


def _row(clock: ClockMap, line: LogLine, event: str, **fields: Any) -> _Row:
    at = clock.monotonic(line.wall_ns or 0)
    return {
        "event": event,
        "t_ns": at.t_ns,
        "error_ns": at.error_ns + RESOLUTION_NS,
        "source": f"{layout.ENGINE_LOG}:{line.number}",
        **fields,
    }


def _start_parts(
    facts: Mapping[str, Fact], timed: Sequence[LogLine], clock: ClockMap
) -> Iterator[_Row]:
    """The cold start by its sources, as far as the engine times them itself."""
    by_number = {line.number: line for line in timed}
    for name, part in _START_PARTS.items():
        fact = facts.get(name)
        line = by_number.get(fact.line) if fact is not None else None
        if fact is not None and line is not None:
            yield _row(clock, line, "start_part", part=part, duration_s=float(fact.value["s"]))


def _witnessed(path: Path) -> dict[str, set[str]]:
    """Request -> events that the front end stamped itself: the same facts, with better times."""
    found: dict[str, set[str]] = {}
    for row in json_lines(path) if path.exists() else ():
        if isinstance(row.get("request"), str):
            found.setdefault(row["request"], set()).add(str(row["event"]))
    return found


def _blocks(server_info: Mapping[str, Any] | None) -> int | None:
    """How many KV blocks there are, as the engine answered; its log says tokens only."""
    config = (server_info or {}).get("vllm_config")
    cache = config.get("cache_config") if isinstance(config, Mapping) else None
    blocks = cache.get("num_gpu_blocks") if isinstance(cache, Mapping) else None
    return blocks if isinstance(blocks, int) else None


def _gaps(facts: Mapping[str, Fact], reader: _Reader) -> Iterator[Gap]:
    if missing := absent(facts, log_reader.FORMS):
        yield _gap(
            f"{layout.ENGINE_LOG} has no line of the known form for: {', '.join(missing)}",
            "the identity items and start times that rest on these lines",
            "a log reader for this version's lines; the log itself is in the bundle",
        )
    if reader.misread:
        yield _gap(
            f"{layout.ENGINE_LOG}: {reader.misread} iteration lines are not of the known form "
            f"({reader.iterations} are)",
            "the iteration lane, batch sizes and step times of these iterations",
            "a log reader for this version's lines; the log itself is in the bundle",
        )


def _unscheduled() -> Gap:
    return _gap(
        "this engine's log names no request in its iterations: when a request was scheduled is not known",
        "server queue, prefill and decode times of single requests",
        "an event record by request inside the engine",
    )


def _no_times(lines: Iterable[LogLine]) -> Gap:
    printed = any(line.process is not None for line in lines)
    what = (
        "its lines carry no time to the millisecond" if printed else "it printed no line of its own"
    )
    return _gap(
        f"no events of the engine were read out of {layout.ENGINE_LOG}: {what}",
        "the server ledger, the iteration lane and released blocks",
        "a start with the log form that Assay configures, and clock anchors of the run",
    )


def _gap(what: str, affects: str, needed: str) -> Gap:
    return Gap(what=what, affects=affects, needed=needed, state="open")
