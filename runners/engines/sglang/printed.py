"""SGLang's own record of a run, read out of what it printed: requests, steps, start.

Requests carry times of their own, to the microsecond or the millisecond. Steps are printed when their result
was taken in and carry no duration: a step began at the line before it, or, where nothing was running then,
when the model loop took up the request that it computes. A decoding request is in every step of its batch,
but no line names it.
"""

import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runners.engines.base import Printed, PrintedContext
from runners.engines.sglang import iteration_lines, log_reader
from runners.engines.sglang.environment import unsupported
from runners.engines.sglang.iteration_lines import StepLine
from runners.engines.sglang.log_lines import RESOLUTION_NS, read_lines
from runners.engines.sglang.request_lines import Clock, RequestEvent, RequestLines
from runners.engines.stated_facts import Fact, LogLine, absent, facts_of
from runners.protocol import layout
from runners.protocol.clock_map import ClockMap
from runners.protocol.documents import Gap
from runners.protocol.events import EngineEvent, ReleaseLevel

PROCESS = "printed"
SINCE_LINE, SINCE_TAKEN = "since the line before", "since its request was taken up"
_ENDS = (EngineEvent.cancelled, EngineEvent.finished)
_DECODE_GRAPH, _PREFILL_GRAPH, _EAGER = "FULL", "PIECEWISE", "NONE"
_NEEDED_READER = "a log reader for this version's lines; the log itself is in the bundle"
_Row = dict[str, Any]


def read(context: PrintedContext) -> Printed:
    """Rows for the bundle's event log, and what its lines did not give."""
    lines = list(read_lines(context.bundle / layout.ENGINE_LOG))
    gaps = list(_configuration(context.spec))
    clock = ClockMap.of(context.anchors)
    if clock is None or not any(line.process for line in lines):
        return Printed(gaps=[*gaps, _nothing(has_clock=clock is not None)])
    requests = RequestLines()
    for line in lines:
        requests.take(line)
    rows = [_of_request(clock, event) for event in requests.events()]
    steps = _Steps(
        clock,
        rows,
        page=_page(context.server_info),
        mixes=bool(context.spec["engine"]["settings"]["mixed_chunk"]),
    )
    rows += steps.rows(lines)
    facts = facts_of(lines, log_reader.FORMS)
    rows += _start_parts(facts, lines, clock)
    rows.sort(key=lambda row: row["t_ns"])
    if rows:
        rows.insert(0, _clock_row(rows[0]["t_ns"], context.clock_domain))
    return Printed(rows=rows, gaps=[*gaps, *_gaps(facts, requests, steps)])


def _of_request(clock: ClockMap, event: RequestEvent) -> _Row:
    t_ns, error_ns = event.at.t_ns, event.at.error_ns
    if event.at.clock is Clock.wall:
        mapped = clock.monotonic(t_ns)
        t_ns, error_ns = mapped.t_ns, mapped.error_ns + error_ns
    return {
        "event": event.event.value,
        "t_ns": t_ns,
        "error_ns": error_ns,
        "source": f"{layout.ENGINE_LOG}:{event.line}",
        "request": event.request,
        **event.value,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Before:
    """The step line before: when it was printed, and whether prompt tokens waited after it."""

    t_ns: int
    pending: bool


class _Steps:
    """Goes through the step lines once.

    ``coarse`` counts lines without a usable time, ``undated`` those whose beginning is not known, ``mixed``
    those of a prompt beside which requests decoded that no line counts.
    """

    def __init__(
        self, clock: ClockMap, requests: Sequence[_Row], *, page: int, mixes: bool
    ) -> None:
        self._clock = clock
        self._page = page
        self._mixes = mixes
        self._taken = sorted(r["t_ns"] for r in requests if r["event"] == EngineEvent.scheduled)
        self._ended = sorted(
            (int(r["t_ns"]), str(r["request"])) for r in requests if r["event"] in _ENDS
        )
        self._total: int | None = None
        self._before: _Before | None = None
        self._shapes: dict[tuple[int, int, str], _Row] = {}
        self.read = self.misread = self.coarse = self.undated = self.mixed = 0

    def rows(self, lines: Sequence[LogLine]) -> Iterator[_Row]:
        for line in lines:
            if (found := facts_of([line], log_reader.FORMS).get("kv_cache")) is not None:
                self._total = int(found.value["tokens"])
            if not iteration_lines.is_step(line.message):
                continue
            step = iteration_lines.step(line.message)
            if step is None:
                self.misread += 1
            elif line.wall_ns is None:
                self.coarse += 1
            else:
                yield from self._step(line, line.wall_ns, step)
        yield from self._shapes.values()

    def _step(self, line: LogLine, wall_ns: int, step: StepLine) -> Iterator[_Row]:
        at = self._clock.monotonic(wall_ns)
        began, how = self._began(at.t_ns, step)
        self._before = _Before(t_ns=at.t_ns, pending=step.pending > 0)
        self.read += 1
        base = {
            "error_ns": at.error_ns + RESOLUTION_NS,
            "source": f"{layout.ENGINE_LOG}:{line.number}",
        }
        self._dispatched(at.t_ns, base, step)
        if self._mixes and step.running and not step.decodes:
            self.mixed += 1
        elif began is None:
            self.undated += 1
        else:
            yield {
                "event": EngineEvent.iteration.value,
                "t_ns": began,
                **base,
                **self._counts(step),
                "duration_ns": at.t_ns - began,
                "duration_is": how,
            }
        if step.kv_tokens == 0:
            yield from self._released(at.t_ns, base)

    def _began(self, printed_ns: int, step: StepLine) -> tuple[int | None, str]:
        before = self._before
        if before is not None and (step.decodes or step.running or before.pending):
            return before.t_ns, SINCE_LINE
        at = bisect.bisect_right(self._taken, printed_ns) - 1
        if at < 0 or (before is not None and self._taken[at] <= before.t_ns):
            return None, ""
        return self._taken[at], SINCE_TAKEN

    def _counts(self, step: StepLine) -> _Row:
        counts: _Row = {
            "prefill_requests": step.prefill_requests,
            "prefill_tokens": step.prefill_tokens,
            "cached_tokens": step.cached_tokens,
            "decode_requests": step.running if step.decodes else 0,
            "decode_tokens": step.running if step.decodes else 0,
            "waiting": step.waiting,
            "graph": step.graph,
        }
        if step.number is not None:
            counts["number"] = step.number
        if step.kv_tokens is not None and self._total is not None:
            counts |= {
                "kv_used": step.kv_tokens // self._page,
                "kv_total": self._total // self._page,
            }
        return counts

    def _dispatched(self, t_ns: int, base: Mapping[str, Any], step: StepLine) -> None:
        """Steps by shape and by whether a graph ran; what a shape was padded to is not printed."""
        tokens = step.running if step.decodes else step.prefill_tokens
        requests = step.running if step.decodes else step.prefill_requests
        mode = (_DECODE_GRAPH if step.decodes else _PREFILL_GRAPH) if step.graph else _EAGER
        row = self._shapes.setdefault(
            (tokens, requests, mode),
            {
                "event": "shape_dispatch",
                "t_ns": t_ns,
                **base,
                "tokens": tokens,
                "requests": requests,
                "uniform": step.decodes,
                "mode": mode,
                "count": 0,
            },
        )
        row["count"] += 1

    def _released(self, t_ns: int, base: Mapping[str, Any]) -> Iterator[_Row]:
        """No token is held: whatever ended before holds none, and what is cached may be taken again."""
        while self._ended and self._ended[0][0] <= t_ns:
            _, request = self._ended.pop(0)
            for level in (ReleaseLevel.blocks_dropped, ReleaseLevel.blocks_reusable):
                yield {
                    "event": "released",
                    "t_ns": t_ns,
                    **base,
                    "request": request,
                    "value": level.value,
                }


def _page(server_info: Mapping[str, Any] | None) -> int:
    """Tokens of a block; one where the server did not say, and a block is then a token."""
    page = (server_info or {}).get("page_size")
    return page if isinstance(page, int) and page > 0 else 1


def _start_parts(
    facts: Mapping[str, Fact], lines: Sequence[LogLine], clock: ClockMap
) -> Iterator[_Row]:
    """The cold start by its sources, as the engine sums it up in one line."""
    fact = facts.get("started")
    wall_ns = None if fact is None else lines[fact.line - 1].wall_ns
    if fact is None or wall_ns is None:
        return
    at, value = clock.monotonic(wall_ns), fact.value
    parts = {
        "weights": value["weights"],
        "KV cache": value["kv_cache"],
        "capture": log_reader.capture_s(str(value["graphs"])),
        "scheduler, all of it": value["scheduler"],
        "front end, all of it": value["front"],
    }
    for part, seconds in parts.items():
        yield {
            "event": "start_part",
            "t_ns": at.t_ns,
            "error_ns": at.error_ns + RESOLUTION_NS,
            "source": f"{layout.ENGINE_LOG}:{fact.line}",
            "part": part,
            "duration_s": float(seconds),
        }


def _clock_row(t_ns: int, domain: str) -> _Row:
    return {
        "event": EngineEvent.clock.value,
        "t_ns": t_ns,
        "clock_domain": domain,
        "process": PROCESS,
    }


def _configuration(spec: Mapping[str, Any]) -> Iterator[Gap]:
    if (words := unsupported(str(spec["device"]["kind"]))) is not None:
        yield _gap(words, "any statement about SGLang's speed or kernels", "a run on a device")


def _gaps(facts: Mapping[str, Fact], requests: RequestLines, steps: _Steps) -> Iterator[Gap]:
    if missing := absent(facts, log_reader.FORMS):
        yield _gap(
            f"{layout.ENGINE_LOG} has no line of the known form for: {', '.join(missing)}",
            "the identity items and start times that rest on these lines",
            _NEEDED_READER,
        )
    if requests.misread:
        yield _gap(
            f"{layout.ENGINE_LOG}: {requests.misread} lines about requests are not of the known form",
            "the server ledger of these requests",
            _NEEDED_READER,
        )
    if requests.unsettled:
        yield _gap(
            f"{len(requests.unsettled)} requests were received and nothing more was printed of them: "
            f"{', '.join(sorted(requests.unsettled)[:6])}",
            "whether each was turned away or left the queue with its client",
            "a record of the engine's front end",
        )
    for count, what in (
        (steps.misread, "are not of the known form"),
        (steps.coarse, "carry no time to the millisecond"),
        (steps.undated, "do not show when their step began"),
        (steps.mixed, "do not say how many requests decoded beside their prompt"),
    ):
        if count:
            yield _gap(
                f"{layout.ENGINE_LOG}: {count} step lines {what} ({steps.read} were read)",
                "the iteration lane, batch sizes and step times of these steps",
                _NEEDED_READER,
            )


def _nothing(*, has_clock: bool) -> Gap:
    what = "it has no line of the engine's own form" if has_clock else "the run has no clock anchor"
    return _gap(
        f"no events of the engine were read out of {layout.ENGINE_LOG}: {what}",
        "the server ledger, the iteration lane and released blocks",
        "a start with the log form that Assay configures, and clock anchors of the run",
    )


def _gap(what: str, affects: str, needed: str) -> Gap:
    return Gap(what=what, affects=affects, needed=needed, state="open")
