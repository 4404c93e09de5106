"""One request as both ends saw it: timestamps, counts, ledgers, lanes, and the raw reads."""

from dataclasses import dataclass

from django.http import Http404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from assay.analysis.documents import (
    LEDGERS,
    AttemptReading,
    GhostLoad,
    LedgerRow,
)
from assay.analysis.metrics.catalogue import title_of
from assay.archive.stored_reading import StoredReading
from assay.pages import words
from assay.pages.contexts.attempt_lanes import LaneView, lane_view
from assay.pages.contexts.attempt_path import PathView, path_view
from assay.pages.contexts.head import RunHead
from assay.pages.contexts.identity import ledger_quote_url
from assay.pages.contexts.ledgers import CheckRow, check_row
from assay.pages.contexts.raw_reads import Reads, raw_reads
from assay.pages.hostile import visible
from assay.pages.joined import in_time_order

TEXT_CHARACTERS = 20_000
TIMESTAMPS = (
    ("scheduled", gettext_lazy("planned send")),
    ("sent", gettext_lazy("last byte of the request sent")),
    ("first_byte", gettext_lazy("first response byte")),
    ("first_content_event", gettext_lazy("first non-empty content event")),
    ("first_visible", gettext_lazy("first visible answer text")),
    ("last_content", gettext_lazy("last content event")),
    ("done", gettext_lazy("terminal event, else the end of the body")),
)
COUNTS = (
    ("token_ids", gettext_lazy("generated token ids, as the server sent them")),
    ("usage", gettext_lazy("the server's usage field")),
    ("retokenized", gettext_lazy("the text counted again by the tokenizer")),
    ("content_chunks", gettext_lazy("events with content")),
    ("events", gettext_lazy("all events of the stream")),
    ("prompt_tokens", gettext_lazy("of the input, as the server counted them")),
    ("cached_tokens", gettext_lazy("of the input, found in a prefix cache")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    name: str
    meaning: str
    since_origin_s: float | None
    since_sent_s: float | None
    absent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    name: str
    meaning: str
    value: int | None
    absent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRow:
    """One state of one ledger; times in seconds since the run's origin."""

    state: str
    detail: str
    from_s: float | None
    to_s: float | None
    evidence: str
    url: str
    level: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRow:
    rule: str
    title: str
    value: float | None
    unit: str
    absent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptPage:
    attempt: AttemptReading
    ids: list[tuple[str, str | None]]
    stamps: list[Stamp]
    counts: list[Count]
    ledgers: list[tuple[str, str, list[StateRow]]]
    lanes: list[LaneView]
    path: PathView | None
    metrics: list[MetricRow]
    ghost: GhostLoad | None
    checks: list[CheckRow]
    text: str
    reasoning: str
    reads: Reads
    previous: str | None
    next: str | None


def attempt_page(head: RunHead, attempt_id: str, reads_page: str | None) -> AttemptPage:
    """Raises Http404 when the interpretation holds no such attempt."""
    stored = head.reading.stored if head.reading and head.reading.present else None
    found = stored.attempt(attempt_id) if stored else None
    if stored is None or found is None:
        raise Http404(_("this run has no attempt of that id"))
    attempt, lanes = found.reading, found.lanes
    return AttemptPage(
        attempt=attempt,
        ids=[
            ("task", attempt["task_id"]),
            ("session", attempt["session_id"]),
            ("request", attempt["request_id"]),
            ("model call", attempt["model_call_id"]),
            ("attempt", attempt["attempt_id"]),
        ],
        stamps=_stamps(attempt),
        counts=_counts(attempt),
        ledgers=[_ledger(name, stored, attempt, head) for name in LEDGERS],
        lanes=[lane_view(lane) for lane in lanes],
        path=path_view(lanes),
        metrics=_metrics(attempt),
        ghost=found.ghost,
        checks=[check_row(check, head) for check in stored.checks(attempt_id)],
        text=visible(attempt["text"], TEXT_CHARACTERS),
        reasoning=visible(attempt["reasoning_text"], TEXT_CHARACTERS),
        reads=raw_reads(head, attempt, reads_page),
        previous=found.previous,
        next=found.next,
    )


def _since(t_ns: int | None, origin_ns: int | None) -> float | None:
    return None if t_ns is None or origin_ns is None else (t_ns - origin_ns) / 1e9


def _stamps(attempt: AttemptReading) -> list[Stamp]:
    times = attempt["timestamps_ns"]
    return [
        Stamp(
            name=name,
            meaning=str(meaning),
            since_origin_s=_since(times.get(name), 0),
            since_sent_s=_since(times.get(name), times.get("sent")),
            absent=_why(attempt, name) or _("did not happen, or was not seen"),
        )
        for name, meaning in TIMESTAMPS
    ]


def _counts(attempt: AttemptReading) -> list[Count]:
    stated: dict[str, int | None] = {
        **attempt["counts"],
        "prompt_tokens": attempt["prompt_tokens"],
        "cached_tokens": attempt["cached_tokens"],
    }
    return [
        Count(
            name=name,
            meaning=str(meaning),
            value=stated.get(name),
            absent=_why(attempt, name) or _("not stated"),
        )
        for name, meaning in COUNTS
    ]


def _why(attempt: AttemptReading, field: str) -> str:
    """Why a field is null, under its own name or that of the group it stands in."""
    reasons = attempt.get("absent") or {}
    for name in (field, f"counts.{field}", f"timestamps_ns.{field}"):
        if reasons.get(name):
            return reasons[name]
    return ""


def _ledger(
    name: str, stored: StoredReading, attempt: AttemptReading, head: RunHead
) -> tuple[str, str, list[StateRow]]:
    subject = attempt["task_id"] if name == "task" else attempt["attempt_id"]
    own = in_time_order(stored.ledger_rows(name, subject or ""))
    return name, str(words.LEDGER_QUESTIONS[name]), [_state(row, head) for row in own]


def _state(row: LedgerRow, head: RunHead) -> StateRow:
    return StateRow(
        state=row["state"],
        detail=visible(row["detail"] or ""),
        from_s=_since(row["from_ns"], 0),
        to_s=_since(row["to_ns"], 0),
        evidence=row["evidence"] or "",
        url=ledger_quote_url(head, row["evidence"]),
        level=row["level"],
    )


def _metrics(attempt: AttemptReading) -> list[MetricRow]:
    return [
        MetricRow(
            rule=rule,
            title=title_of(rule),
            value=metric.get("value"),
            unit=metric.get("unit", ""),
            absent=metric.get("absent") or metric.get("special") or "",
        )
        for rule, metric in attempt["metrics"].items()
    ]
