"""The load segment's requests as the load paces them: when or by which slot each goes, how long it is.

``workload.requests`` is how many there are. A ramp, stages and a trace end by themselves: then it is the
most that are planned, and a profile that it would cut short is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runners.load import arrivals
from runners.load.trace_formats import TraceRow
from runners.load.trace_replay import replay
from runners.protocol.errors import Finding, Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """Null lengths are the workload's; ``blocks`` name shared stretches of prompt, from its beginning."""

    offset_ns: int | None = None
    slot: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    blocks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """``notes`` are counts for the plan's summary: what became of a trace's rows."""

    requests: tuple[Planned, ...]
    notes: Mapping[str, int]


def schedule(document: Mapping[str, Any], trace_rows: Sequence[TraceRow] = ()) -> Schedule:
    """Every request of the load segment, in order. Raises Refused where load and workload do not fit."""
    load, count = document["load"], document["workload"]["requests"]
    if load["kind"] == "trace":
        return _of_trace(document, trace_rows)
    if is_closed(load):
        return Schedule(requests=tuple(_closed(load, count)), notes={})
    offsets = _offsets(load, count)
    return Schedule(requests=tuple(Planned(offset_ns=at_ns) for at_ns in offsets), notes={})


def is_closed(load: Mapping[str, Any]) -> bool:
    """A closed loop by slots, or stages of concurrencies; everything else is an open loop."""
    if load["kind"] == "staged":
        return any(stage["concurrency"] is not None for stage in load["stages"])
    return bool(load["kind"] == "closed")


def stage_spans_ns(load: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    """[from, to) of each stage of an open profile, from the start of the segment; none for other loads."""
    if load["kind"] == "ramp":
        return arrivals.ramp_arrivals(load["ramp"], seed=int(load["seed"])).spans_ns
    if load["kind"] == "staged" and not is_closed(load):
        return arrivals.staged_arrivals(load["stages"], seed=int(load["seed"])).spans_ns
    return ()


def _closed(load: Mapping[str, Any], count: int) -> list[Planned]:
    if load["kind"] == "staged":  # slots come and go: whoever is free takes the next request
        return [Planned()] * count
    slots = arrivals.closed_slots(count, concurrency=load["concurrency"])
    return [Planned(slot=slot) for slot in slots]


def _offsets(load: Mapping[str, Any], count: int) -> Sequence[int]:
    kind, seed = load["kind"], int(load["seed"])
    if kind == "constant":
        return arrivals.constant_offsets_ns(count, rate_per_s=load["rate_per_s"])
    if kind == "poisson":
        return arrivals.poisson_offsets_ns(count, rate_per_s=load["rate_per_s"], seed=seed)
    if kind == "gamma":
        return arrivals.gamma_offsets_ns(
            count, rate_per_s=load["rate_per_s"], burstiness=load["burstiness"], seed=seed
        )
    if kind == "burst":
        return arrivals.burst_offsets_ns(count)
    if kind == "ramp":
        return _whole(arrivals.ramp_arrivals(load["ramp"], seed=seed).offsets_ns, count)
    return _whole(arrivals.staged_arrivals(load["stages"], seed=seed).offsets_ns, count)


def _whole(offsets_ns: Sequence[int], count: int) -> Sequence[int]:
    if len(offsets_ns) > count:
        raise Refused(
            Finding(
                field="workload.requests",
                seen=str(count),
                allowed=f"at least {len(offsets_ns)}, which the declared load sends",
                remedy="Plan more requests, or shorten the load.",
            )
        )
    return offsets_ns


def _of_trace(document: Mapping[str, Any], rows: Sequence[TraceRow]) -> Schedule:
    count = document["workload"]["requests"]
    taken = replay(rows, document["load"]["trace"], requests=count)
    planned = tuple(
        Planned(
            offset_ns=r.offset_ns,
            input_tokens=r.input_tokens,
            output_tokens=r.output_tokens,
            blocks=r.blocks,
        )
        for r in taken.requests
    )
    return Schedule(requests=planned, notes=taken.summary())


def check_fits(planned: Sequence[Planned], document: Mapping[str, Any]) -> None:
    """Raises Refused for the first request whose own lengths do not fit the model's or engine's context."""
    limits = {
        "artifact.config.max_length": (document["artifact"]["config"] or {}).get("max_length"),
        "engine.settings.max_length": document["engine"]["settings"].get("max_length"),
    }
    for number, request in enumerate(planned, start=1):
        total = (request.input_tokens or 0) + (request.output_tokens or 0)
        for field, limit in limits.items():
            if limit is not None and total > limit:
                raise Refused(
                    Finding(
                        field=f"load.trace: request {number}",
                        seen=f"{request.input_tokens} input + {request.output_tokens} output tokens",
                        allowed=f"at most {limit} ({field})",
                        remedy="Cut lengths with load.trace.max_input_tokens and max_output_tokens.",
                    )
                )
