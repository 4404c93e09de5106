"""TensorRT-LLM's own record of a run, as far as its log gives one: iterations, and that clients left.

The log names no attempt, so no request's life is in it. Its times are whole seconds: an iteration's duration
is exact, its place is not. Documented forms, never run here.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from runners.engines.base import Printed, PrintedContext
from runners.engines.stated_facts import Fact, LogLine, absent, facts_of
from runners.engines.tensorrt_llm import iteration_lines, log_reader
from runners.engines.tensorrt_llm.iteration_lines import IterationLine
from runners.engines.tensorrt_llm.log_lines import RESOLUTION_NS, read_lines
from runners.protocol import layout
from runners.protocol.clock_map import ClockMap
from runners.protocol.documents import Gap
from runners.protocol.events import EngineEvent

PROCESS = "printed"
NEVER_RUN = "this adapter follows documented forms of TensorRT-LLM 1.2 and was never run against it"
_LEFT = re.compile(r".+ is disconnected, abort (?P<number>\d+)")
_NEEDED_READER = "a log reader for this version's lines; the log itself is in the bundle"
_Row = dict[str, Any]


def read(context: PrintedContext) -> Printed:
    """Rows for the bundle's event log, and what its lines did not give."""
    lines = list(read_lines(context.bundle / layout.ENGINE_LOG))
    gaps = [_gap(NEVER_RUN, "every reading of its log and metrics", "a run on a GPU")]
    clock = ClockMap.of(context.anchors)
    facts = facts_of(lines, log_reader.FORMS)
    if clock is None or not any(line.process for line in lines):
        what = "it has no line of a known form" if clock else "the run has no clock anchor"
        gaps.append(
            _gap(
                f"no events of the engine were read out of {layout.ENGINE_LOG}: {what}",
                "the iteration lane",
                "a log in the documented form, and clock anchors of the run",
            )
        )
        return Printed(gaps=gaps)
    found = [(line, iteration_lines.iteration(line.message)) for line in lines]
    rows = [
        _row(clock, line, line.wall_ns, step, facts)
        for line, step in found
        if step is not None and step.rank == 0 and line.wall_ns is not None and step.scheduled
    ]
    rows.sort(key=lambda row: (row["t_ns"], row["number"]))
    rows = sorted([*rows, *_shapes(rows)], key=lambda row: row["t_ns"])
    if rows:
        rows.insert(0, _clock_row(rows[0]["t_ns"], context.clock_domain))
    misread = sum(
        step is None and iteration_lines.is_iteration(line.message) for line, step in found
    )
    return Printed(rows=rows, gaps=[*gaps, *_gaps(lines, facts, misread)])


def _row(
    clock: ClockMap, line: LogLine, wall_ns: int, step: IterationLine, facts: Mapping[str, Fact]
) -> _Row:
    at = clock.monotonic(wall_ns)
    duration_ns = round(step.host_ms * 1e6)
    row: _Row = {
        "event": EngineEvent.iteration.value,
        "t_ns": at.t_ns - duration_ns,
        "error_ns": at.error_ns + RESOLUTION_NS,
        "source": f"{layout.ENGINE_LOG}:{line.number}",
        "number": step.number,
        "duration_ns": duration_ns,
        "duration_is": "the host's own time of this iteration",
        "prefill_requests": step.prefill_requests,
        "prefill_tokens": step.prefill_tokens,
        "decode_requests": step.decode_requests,
        "decode_tokens": step.decode_requests,
        "generation_tokens_padded": step.generation_tokens,
    }
    if step.previous_device_ms is not None:
        row["previous_device_ns"] = round(step.previous_device_ms * 1e6)
    cache, block = facts.get("kv_cache"), facts.get("kv_block")
    if step.kv_use is not None and cache is not None and block is not None:
        row["kv_total"] = int(cache.value["tokens"]) // int(block.value["tokens"])
        row["kv_use"] = step.kv_use  # printed too coarsely for a number of blocks
    return row


def _shapes(steps: list[_Row]) -> list[_Row]:
    """Decoding steps that computed more tokens than they had requests: only a graph is padded.

    A step that was not padded may have run either way, so nothing is said of it.
    """
    found: dict[tuple[int, int], _Row] = {}
    for step in steps:
        tokens, padded = step["decode_requests"], step["generation_tokens_padded"]
        if step["prefill_requests"] or padded <= tokens:
            continue
        row = found.setdefault(
            (tokens, padded),
            {
                "event": "shape_dispatch",
                **{name: step[name] for name in ("t_ns", "error_ns", "source")},
                "tokens": tokens,
                "padded": padded,
                "requests": tokens,
                "uniform": True,
                "mode": "FULL",
                "count": 0,
            },
        )
        row["count"] += 1
    return list(found.values())


def _clock_row(t_ns: int, domain: str) -> _Row:
    return {
        "event": EngineEvent.clock.value,
        "t_ns": t_ns,
        "clock_domain": domain,
        "process": PROCESS,
    }


def _gaps(lines: list[LogLine], facts: Mapping[str, Fact], misread: int) -> Iterator[Gap]:
    if missing := absent(facts, log_reader.FORMS):
        yield _gap(
            f"{layout.ENGINE_LOG} has no line of the known form for: {', '.join(missing)}",
            "the identity items that rest on these lines",
            _NEEDED_READER,
        )
    if misread:
        yield _gap(
            f"{layout.ENGINE_LOG}: {misread} iteration lines are not of the known form",
            "the iteration lane, batch sizes and step times of these iterations",
            _NEEDED_READER,
        )
    if left := [m["number"] for line in lines if (m := _LEFT.fullmatch(line.message))]:
        yield _gap(
            f"the engine saw {len(left)} clients leave and aborted its requests {', '.join(left[:6])}",
            "which attempts these were: it numbers requests by itself",
            "an id of the client's in the engine's log",
        )
    yield _gap(
        "this engine's log names no attempt",
        "the server ledger: queue, prefill, decode and end of single requests",
        "an event record by request inside the engine",
    )


def _gap(what: str, affects: str, needed: str) -> Gap:
    return Gap(what=what, affects=affects, needed=needed, state="open")
