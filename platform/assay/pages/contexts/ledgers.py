"""The four ledgers side by side, filtered to what disagrees, haunts or stayed open."""

from dataclasses import dataclass

import polars as pl
from django.utils.translation import gettext_lazy as _

from assay.analysis.documents import CancelCheck, Reconciliation
from assay.archive.stored_reading import StoredReading
from assay.ledger.models import LedgerCount
from assay.pages import words
from assay.pages.contexts.head import RunHead
from assay.pages.contexts.identity import ledger_quote_url
from assay.pages.contexts.overview import LedgerSummary, ledger_summaries
from assay.pages.joined import (
    DISAGREES,
    HAS_GHOST,
    UNFINALISED,
    UNKNOWN,
    JoinedAttempt,
    attempts_table,
    joined,
)
from assay.pages.paging import Paged, window

CHOICES: dict[str, tuple[object, pl.Expr]] = {
    "all": (_("all attempts"), pl.lit(value=True)),
    "disagree": (_("client and server disagree"), DISAGREES),
    "ghost": (_("ghost load"), HAS_GHOST),
    "unfinalised": (_("unfinalised"), UNFINALISED),
    "unknown": (_("some ledger unknown"), UNKNOWN),
}
SORTS: dict[str, pl.Expr] = {
    "attempt": pl.col("attempt_id"),
    "client": pl.col("client_end_state"),
    "server": pl.col("server_end_state").fill_null(""),
    "task": pl.col("task_end_state").fill_null(""),
    "resource": pl.concat_str("resource_end_state", "resource_end_detail", ignore_nulls=True),
    "ghost": pl.when("ghost").then(pl.col("ghost_total_ns").fill_null(0)).otherwise(-1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    key: str
    label: str
    count: int
    here: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseLevelRow:
    """A level, how many attempts have evidence that they reached it, and of how many it is unknown."""

    level: str
    meaning: str
    count: int
    unknown: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRow:
    """One of the five checks of a cancellation, with the page that shows its evidence."""

    check: str
    result: str
    value: str
    evidence: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgersPage:
    summaries: list[LedgerSummary]
    reconciliation: Reconciliation
    choices: list[Choice]
    sort: str
    paged: Paged[JoinedAttempt]
    cancelled: list[tuple[str, list[CheckRow]]]
    ghost_total_s: float
    ghost_unknown: int
    release: list[ReleaseLevelRow]


def ledgers_page(head: RunHead, *, show: str, sort: str, page: str | None) -> LedgersPage | None:
    """None when there is no interpretation to read."""
    document = head.reading.document() if head.reading else None
    if head.reading is None or document is None:
        return None
    rows = attempts_table(head.reading)
    counted = _counts(rows)
    chosen = chosen_attempts(rows, show=show, sort=sort)
    where = window(counted[show if show in CHOICES else "all"], page)
    counts = list(LedgerCount.objects.filter(interpretation=head.interpretation))
    stored = head.reading.stored
    ghosts = stored.ghosts()
    return LedgersPage(
        summaries=ledger_summaries(counts),
        reconciliation=document["reconciliation"],
        choices=[
            Choice(key=key, label=str(label), count=counted[key], here=key == show)
            for key, (label, _holds) in CHOICES.items()
        ],
        sort=sort,
        paged=Paged(rows=joined(chosen.slice(where.offset, where.size)), window=where),
        cancelled=_by_attempt(stored.checks(), head),
        ghost_total_s=sum(ghost["total_ns"] or 0 for ghost in ghosts) / 1e9,
        ghost_unknown=sum(ghost["total_ns"] is None for ghost in ghosts),
        release=_release_levels(stored, counted["all"]),
    )


def chosen_attempts(rows: pl.LazyFrame, *, show: str, sort: str) -> pl.LazyFrame:
    chosen = rows.filter(CHOICES.get(show, CHOICES["all"])[1])
    key = SORTS.get(sort.removeprefix("-"))
    if key is None:
        return chosen
    return chosen.sort(key, descending=sort.startswith("-"), maintain_order=True)


def _counts(rows: pl.LazyFrame) -> dict[str, int]:
    """How many attempts each choice shows."""
    columns = [
        pl.len().alias(key) if key == "all" else holds.sum().alias(key)
        for key, (_label, holds) in CHOICES.items()
    ]
    return rows.select(columns).collect().row(0, named=True)


def check_row(check: CancelCheck, head: RunHead) -> CheckRow:
    return CheckRow(
        check=check["check"].replace("_", " "),
        result=check["result"],
        value=check["value"] or "",
        evidence=check["evidence"] or "",
        url=ledger_quote_url(head, check["evidence"]),
    )


def _by_attempt(checks: list[CancelCheck], head: RunHead) -> list[tuple[str, list[CheckRow]]]:
    found: dict[str, list[CheckRow]] = {}
    for check in checks:
        found.setdefault(check["attempt_id"], []).append(check_row(check, head))
    return list(found.items())


def _release_levels(stored: StoredReading, attempts: int) -> list[ReleaseLevelRow]:
    reached = stored.released()
    return [
        ReleaseLevelRow(
            level=level,
            meaning=str(meaning),
            count=reached.get(level, 0),
            unknown=attempts - reached.get(level, 0),
        )
        for level, meaning in words.RELEASE_MEANING.items()
    ]
