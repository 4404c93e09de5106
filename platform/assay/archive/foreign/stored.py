"""The converted form that an archive keeps beside the tool's own files: ``calls.jsonl`` and ``tool.json``."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from assay.analysis.absence import Absent
from assay.analysis.compat.figures import Figure
from assay.analysis.compat.rows import Span, ToolRow
from assay.archive.foreign.result import ForeignCall, ForeignResult
from runners.protocol import layout, manifest

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def write(folder: Path, result: ForeignResult) -> None:
    """Write both files below ``folder``, the bundle."""
    (folder / layout.FOREIGN_TOOL).write_bytes(manifest.canonical(_tool(result)))
    with (folder / layout.FOREIGN_CALLS).open("w", encoding="utf-8") as stream:
        for call in result.calls:
            stream.write(_encode(_call_row(call)) + "\n")


def read(folder: Path) -> ForeignResult:
    tool = json.loads((folder / layout.FOREIGN_TOOL).read_bytes())
    with (folder / layout.FOREIGN_CALLS).open("rb") as stream:
        calls = list(_calls(stream))
    span = tool["span_ns"]
    return ForeignResult(
        tool=tool["tool"],
        version=tool["version"],
        model=tool["model"],
        calls=calls,
        span=None if span is None else Span(from_ns=int(span[0]), to_ns=int(span[1])),
        reported=[Figure(**f) for f in tool["reported"]],
        has_starts=tool["has_starts"],
        instants_are_content=tool["instants_are_content"],
        clock=tool["clock"],
        unknown=tool["unknown"],
    )


def _tool(result: ForeignResult) -> dict[str, Any]:
    span = result.span
    return {
        "tool": result.tool,
        "version": result.version,
        "model": result.model,
        "span_ns": None if span is None else [str(span.from_ns), str(span.to_ns)],
        "reported": [_figure(f) for f in result.reported],
        "has_starts": result.has_starts,
        "instants_are_content": result.instants_are_content,
        "clock": result.clock,
        "unknown": dict(result.unknown),
    }


def _figure(figure: Figure) -> dict[str, Any]:
    value = figure.value
    return {
        "quantity": figure.quantity,
        "statistic": figure.statistic,
        "value": None if isinstance(value, Absent) else value,
        "n": figure.n,
        "percentile_rule": figure.percentile_rule,
    }


def _call_row(call: ForeignCall) -> dict[str, Any]:
    row = call.row
    return {
        "call_id": call.call_id,
        "session_id": call.session_id,
        "state": call.state,
        "failure": call.failure,
        "status": call.status,
        "ok": row.ok,
        "start_ns": row.start_ns,
        "times_ns": row.times_ns.tolist(),
        "counted_events": row.counted_events,
        "end_ns": row.end_ns,
        "body_end_ns": call.body_end_ns,
        "prompt_tokens": row.prompt_tokens,
        "output_tokens": row.output_tokens,
        "usage_tokens": call.usage_tokens,
    }


def _calls(lines: Iterable[bytes]) -> Iterator[ForeignCall]:
    for line in lines:
        found = json.loads(line)
        yield ForeignCall(
            call_id=found["call_id"],
            row=ToolRow(
                ok=found["ok"],
                start_ns=found["start_ns"],
                times_ns=np.array(found["times_ns"], dtype=np.int64),
                counted_events=found["counted_events"],
                end_ns=found["end_ns"],
                prompt_tokens=found["prompt_tokens"],
                output_tokens=found["output_tokens"],
            ),
            state=found["state"],
            failure=found["failure"],
            status=found["status"],
            body_end_ns=found["body_end_ns"],
            usage_tokens=found["usage_tokens"],
            session_id=found["session_id"],
        )
