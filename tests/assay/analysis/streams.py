"""Recorded streams for tests, in the interchange form, written the way a server would send them."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from assay.analysis.documents import InterpretationDocument
from assay.analysis.interchange import read_attempts, wire_rows
from assay.analysis.levels import Levels
from assay.analysis.rates import ServiceLevels
from assay.analysis.recorded import RecordedStream, interpret_recorded
from assay.analysis.window import Window
from assay.analysis.wire.attempt import Attempt

MS = 1_000_000
SAMPLE = Path(__file__).parents[3] / "experiments" / "samples" / "two_requests"
DONE = "data: [DONE]\n\n"


def event(document: Any) -> str:
    """One server-sent event with a JSON payload."""
    return f"data: {json.dumps(document)}\n\n"


def delta(
    content: str | None = None,
    *,
    finish: str | None = None,
    ids: Sequence[int] | None = None,
    **more: Any,
) -> str:
    """One chat chunk of choice 0."""
    body = dict(more)
    if content is not None:
        body["content"] = content
    choice: dict[str, Any] = {"index": 0, "delta": body, "finish_reason": finish}
    if ids is not None:
        choice["token_ids"] = list(ids)
    return event({"object": "chat.completion.chunk", "choices": [choice]})


def usage(completion: int, prompt: int | None = None, **more: Any) -> str:
    counts = {"completion_tokens": completion, "prompt_tokens": prompt, **more}
    return event({"choices": [], "usage": counts})


def row(kind: str, t_ms: float, attempt: str = "a", **more: Any) -> dict[str, Any]:
    return {"attempt_id": attempt, "t_ns": round(t_ms * MS), "kind": kind, **more}


def read(t_ms: float, text: str, attempt: str = "a", **more: Any) -> dict[str, Any]:
    return row("read", t_ms, attempt, text=text, **more)


def lines(rows: Iterable[dict[str, Any]]) -> list[str]:
    return [json.dumps(r) for r in rows]


def attempts(*rows: dict[str, Any]) -> list[Attempt]:
    return read_attempts(wire_rows(lines(rows), file="wire.jsonl"), file="wire.jsonl")


def one(*rows: dict[str, Any]) -> Attempt:
    (found,) = attempts(*rows)
    return found


def reply(*pieces: tuple[float, str], closed_ms: float | None = None) -> Attempt:
    """An attempt sent at 0 whose body arrived in these pieces and ended cleanly after the last one."""
    end = pieces[-1][0] if closed_ms is None else closed_ms
    return one(
        row("created", 0),
        row("sent", 0),
        row("headers", pieces[0][0], status=200),
        *(read(t, text) for t, text in pieces),
        row("closed", end),
    )


def interpretation(
    rows: Iterable[dict[str, Any]],
    events: Iterable[dict[str, Any]] = (),
    *,
    slo: ServiceLevels | None = None,
    window: Window | None = None,
    levels: Levels | None = None,
) -> InterpretationDocument:
    stream = RecordedStream(lines(rows), lines(events), wire_file="wire.jsonl")
    return interpret_recorded(
        stream, slo=slo or ServiceLevels(), window=window, levels=levels or Levels()
    )


def sample_stream() -> RecordedStream:
    """The two-request sample of the source text."""
    with (SAMPLE / "wire.jsonl").open("rb") as wire, (SAMPLE / "events.jsonl").open("rb") as beside:
        return RecordedStream(wire, beside, wire_file="wire.jsonl")
