"""Lines of SGLang's log about single requests, as events of the vocabulary that every engine's record uses.

Three lines speak of a request. ``Receive`` names the engine's own id and the attempt's header beside it;
``ReqTimeStats`` is printed once the model loop is done with a request, an aborted one too; ``Finish`` once
its whole answer is there. Their times are the engine's own, not those of the printing: the reception on the
monotonic clock, the others as wall times.

A departed client has no line. That the loop was done with a request and its front end finished no answer to
it is what shows it: the front end had let it go. A request that was turned away, or that left the queue
unseen, has nothing but its ``Receive``.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from runners.engines.stated_facts import LogLine
from runners.protocol.events import EngineEvent

_RECEIVED = re.compile(
    r"Receive: obj=\w+\(rid=(?P<rid>'[^']*'|\[[^\]]*\]), .*\breceived_time=(?P<time>[\d.]+|None)\b.*?\)"
    r"(?P<headers>, headers=\{.*\})?"
)
_HEADER = re.compile(r"'x-request-id': '(?P<attempt>[^']*)'")
_STATS = re.compile(
    r"ReqTimeStats\(rid=(?P<rid>[^,]+), (?:bootstrap_room=\w+, )?input_len=(?P<prompt>\d+), "
    r"cached_input_len=(?P<cached>\d+), output_len=(?P<tokens>\d+), attempts=\d+, type=unified\): "
    r"queue_duration=(?P<queue_ms>[\d.]+)ms, forward_duration=(?P<forward_ms>[\d.]+)ms, "
    r"entry_time=(?P<entry>[\d.]+)"
)
_FINISHED = re.compile(r"Finish: obj=\w+\(rid=(?P<rid>'[^']*'|\[[^\]]*\]), .*, out=(?P<out>\{.*\})")
_STARTS = ("Receive: obj=", "ReqTimeStats(", "Finish: obj=")
_MADE = re.compile(r"[0-9a-f]{32}|HEALTH_CHECK.*")  # ids that the engine itself makes
_NO_NUMBER = re.compile(r"\b(?:nan|inf)\b")
LEFT = "the engine was done with it and its front end finished no answer: its client had left"
_STATS_NS = 1_000_000  # entry_time is printed with three decimals


class Clock(StrEnum):
    monotonic = "monotonic"
    wall = "wall"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """When something happened by the engine's own clock reading, right to within ``error_ns``."""

    clock: Clock
    t_ns: int
    error_ns: int = 1_000  # a double holds today's wall time to a quarter of a microsecond


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestEvent:
    event: EngineEvent
    request: str
    at: Stamp
    line: int
    value: Mapping[str, Any]


@dataclass(slots=True)
class _Request:
    attempt: str
    received: tuple[Stamp, int] | None = None
    stats: tuple[Mapping[str, Any], int] | None = None
    meta: tuple[Mapping[str, Any], int] | None = None


class RequestLines:
    """Takes the lines of a log one by one, then tells what they said of each attempt.

    ``misread`` counts lines about requests whose form is not known.
    """

    def __init__(self) -> None:
        self._requests: dict[str, _Request] = {}
        self.misread = 0

    def take(self, line: LogLine) -> None:
        message = line.message
        if not message.startswith(_STARTS):
            return
        if match := _RECEIVED.fullmatch(message):
            self._receive(match, line.number)
        elif match := _STATS.fullmatch(message):
            if (found := self._requests.get(match["rid"])) is not None:
                found.stats = (match.groupdict(), line.number)
        elif (match := _FINISHED.fullmatch(message)) and (meta := _meta(match["out"])) is not None:
            if (found := self._requests.get(_ids(match["rid"])[0])) is not None:
                found.meta = (meta, line.number)
        else:
            self.misread += 1

    def _receive(self, match: re.Match[str], line: int) -> None:
        header = _HEADER.search(match["headers"] or "")
        for rid in _ids(match["rid"]):
            attempt = header["attempt"] if header else rid
            if header is None and _MADE.fullmatch(rid):
                continue  # the server's own warm-up, a health check
            request = self._requests.setdefault(rid, _Request(attempt))
            if match["time"] != "None":
                at = Stamp(clock=Clock.monotonic, t_ns=round(float(match["time"]) * 1e9))
                request.received = (at, line)

    def events(self) -> Iterator[RequestEvent]:
        """Every event of every attempt, in no order."""
        for request in self._requests.values():
            yield from _events(request)

    @property
    def unsettled(self) -> list[str]:
        """Attempts that were received and of which nothing more was printed."""
        return [r.attempt for r in self._requests.values() if r.stats is None and r.meta is None]


def _ids(text: str) -> list[str]:
    return re.findall(r"'([^']*)'", text)


def _meta(text: str) -> Mapping[str, Any] | None:
    try:
        found = ast.literal_eval(_NO_NUMBER.sub("None", text))
        meta = found["meta_info"]
    except (ValueError, SyntaxError, KeyError, TypeError):
        return None
    return meta if isinstance(meta, dict) and isinstance(meta.get("finish_reason"), dict) else None


def _events(request: _Request) -> Iterator[RequestEvent]:
    def event(name: EngineEvent, at: Stamp, line: int, **value: Any) -> RequestEvent:
        return RequestEvent(event=name, request=request.attempt, at=at, line=line, value=value)

    if request.received is not None:
        at, line = request.received
        yield event(EngineEvent.front_received, at, line)
    ended: tuple[Stamp, int] | None = None
    tokens: int | None = None
    if request.stats is not None:
        stats, line = request.stats
        queued, scheduled, done = _loop_times(stats)
        ended, tokens = (done, line), int(stats["tokens"])
        yield event(
            EngineEvent.queued,
            queued,
            line,
            prompt_tokens=int(stats["prompt"]),
            cached_tokens=int(stats["cached"]),
        )
        if _wall(request.meta, "forward_entry_time") is None:
            yield event(EngineEvent.scheduled, scheduled, line)
    if request.meta is not None:
        meta, line = request.meta
        for name, key in _OWN_TIMES:
            if (at_ := _wall(request.meta, key)) is not None:
                yield event(name, at_, line)
        seen = _wall(request.meta, "request_finished_ts")
        ended = ended or ((seen, line) if seen is not None else None)
        tokens = int(meta["completion_tokens"])
    if ended is not None:
        name, value = _ending(request.meta)
        yield event(name, *ended, tokens_out=tokens, **value)


_OWN_TIMES = (
    (EngineEvent.scheduled, "forward_entry_time"),
    (EngineEvent.first_token, "prefill_finished_time"),
    (EngineEvent.front_written, "response_sent_to_client_ts"),  # the first write of a stream
)


def _loop_times(stats: Mapping[str, Any]) -> tuple[Stamp, Stamp, Stamp]:
    """When the model loop queued a request, took it up and was done with it."""
    entry = round(float(stats["entry"]) * 1e9)
    taken = entry + round(float(stats["queue_ms"]) * 1e6)
    done = taken + round(float(stats["forward_ms"]) * 1e6)
    return _printed(entry), _printed(taken), _printed(done)


def _printed(wall_ns: int) -> Stamp:
    return Stamp(clock=Clock.wall, t_ns=wall_ns, error_ns=_STATS_NS)


def _wall(meta: tuple[Mapping[str, Any], int] | None, key: str) -> Stamp | None:
    value = None if meta is None else meta[0].get(key)
    return Stamp(clock=Clock.wall, t_ns=round(value * 1e9)) if isinstance(value, float) else None


def _ending(meta: tuple[Mapping[str, Any], int] | None) -> tuple[EngineEvent, dict[str, Any]]:
    if meta is None:
        return EngineEvent.cancelled, {"reason": LEFT}
    reason = meta[0]["finish_reason"]
    if reason.get("type") == "abort":
        return EngineEvent.cancelled, {"reason": reason.get("message") or "the engine aborted it"}
    preempted = meta[0].get("num_retractions")
    return EngineEvent.finished, {"reason": reason.get("type"), "preemptions": preempted}
