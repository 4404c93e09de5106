"""A recorded trace as a load: its file below an allowed root and by its digest, its rows as requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.load.pinned_files import pinned
from runners.load.trace_formats import TraceRow, read_rows
from runners.protocol.errors import Finding, Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """One request of a trace. The lengths are null where the workload's hold."""

    offset_ns: int
    input_tokens: int | None
    output_tokens: int | None
    blocks: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """``left_out`` and ``cut`` count rows skipped as empty and lengths cut to their declared most."""

    requests: tuple[Replayed, ...]
    rows: int
    left_out: int
    cut: int

    def summary(self) -> dict[str, int]:
        return {"rows": self.rows, "empty_rows_left_out": self.left_out, "lengths_cut": self.cut}


def open_trace(load: Mapping[str, Any], *, roots: Sequence[Path]) -> list[TraceRow]:
    """The rows of ``load.trace``; none for another kind of load. Raises Refused or EnvironmentLacks."""
    if load["kind"] != "trace":
        return []
    trace = load["trace"]
    path = pinned(str(trace["path"]), str(trace["sha256"]), roots=roots, field="load.trace")
    with path.open("rb") as stream:
        lines = (raw.decode("utf-8", errors="replace") for raw in stream)
        return list(read_rows(lines, trace_format=str(trace["format"]), file=path.name))


def replay(rows: Sequence[TraceRow], trace: Mapping[str, Any], *, requests: int) -> Replay:
    """At most so many requests from ``start_s`` on, at their own distances divided by ``speed``.

    Sorted by time; rows of equal time keep their order. The first one taken leaves at 0.
    """
    with_lengths = trace["lengths"] == "trace"
    ordered = sorted(rows, key=lambda row: row.t_ns)
    from_ns = (ordered[0].t_ns if ordered else 0) + round(trace["start_s"] * 1e9)
    taken: list[TraceRow] = []
    left_out = 0
    for row in ordered:
        if len(taken) == requests or row.t_ns < from_ns:
            continue
        if with_lengths and not (row.input_tokens and row.output_tokens):
            _skip_or_refuse(row, trace)
            left_out += 1
            continue
        taken.append(row)
    if not taken and requests:
        raise _refused(
            "load.trace.start_s",
            f"{trace['start_s']:g} s, {len(rows)} rows",
            "a start with requests after it",
            "Start earlier, or give a longer trace.",
        )
    lengths = [_lengths(row, trace) if with_lengths else (None, None, 0) for row in taken]
    return Replay(
        requests=tuple(
            Replayed(
                offset_ns=round((row.t_ns - taken[0].t_ns) / trace["speed"]),
                input_tokens=asked,
                output_tokens=answered,
                blocks=row.blocks if with_lengths else (),
            )
            for row, (asked, answered, _) in zip(taken, lengths, strict=True)
        ),
        rows=len(rows),
        left_out=left_out,
        cut=sum(cut for _, _, cut in lengths),
    )


def _skip_or_refuse(row: TraceRow, trace: Mapping[str, Any]) -> None:
    if trace["empty_rows"] != "skip":
        raise _refused(
            f"load.trace: {Path(trace['path']).name}:{row.line}",
            f"{row.input_tokens} input and {row.output_tokens} output tokens",
            "at least 1 of each",
            "Leave such rows out with load.trace.empty_rows: skip.",
        )


def _lengths(row: TraceRow, trace: Mapping[str, Any]) -> tuple[int, int, int]:
    most_in, most_out = trace["max_input_tokens"], trace["max_output_tokens"]
    asked = min(row.input_tokens, most_in or row.input_tokens)
    answered = min(row.output_tokens, most_out or row.output_tokens)
    return asked, answered, (asked < row.input_tokens) + (answered < row.output_tokens)


def _refused(field: str, seen: str, allowed: str, remedy: str) -> Refused:
    return Refused(Finding(field=field, seen=seen, allowed=allowed, remedy=remedy))
