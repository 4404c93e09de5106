"""The four ledgers side by side, filtered to what disagrees, haunts or stayed open."""

from collections.abc import Callable
from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from assay.analysis.documents import CancelCheck, LedgerRow, Reconciliation
from assay.ledger.models import LedgerCount
from assay.pages import words
from assay.pages.contexts.head import RunHead
from assay.pages.contexts.identity import ledger_quote_url
from assay.pages.contexts.overview import LedgerSummary, ledger_summaries
from assay.pages.joined import JoinedAttempt, joined_attempts
from assay.pages.paging import Paged, window

CHOICES: dict[str, tuple[object, Callable[[JoinedAttempt], bool]]] = {
    "all": (_("all attempts"), lambda row: True),
    "disagree": (_("client and server disagree"), lambda row: row.disagrees),
    "ghost": (_("ghost load"), lambda row: row.has_ghost),
    "unfinalised": (_("unfinalised"), lambda row: row.unfinalised),
    "unknown": (_("some ledger unknown"), lambda row: row.unknown),
}
SORTS: dict[str, Callable[[JoinedAttempt], object]] = {
    "attempt": lambda row: row.attempt_id,
    "client": lambda row: row.client.state,
    "server": lambda row: row.server.state if row.server else "",
    "task": lambda row: row.task.state if row.task else "",
    "resource": lambda row: row.resource.state + row.resource.detail if row.resource else "",
    "ghost": lambda row: (row.ghost["total_ns"] or 0) if row.ghost else -1,
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
    rows = joined_attempts(head.reading)
    chosen = chosen_attempts(rows, show=show, sort=sort)
    where = window(len(chosen), page)
    counts = list(LedgerCount.objects.filter(interpretation=head.interpretation))
    ghosts = document["ghost_load"]
    return LedgersPage(
        summaries=ledger_summaries(counts),
        reconciliation=document["reconciliation"],
        choices=[
            Choice(key=key, label=str(label), count=sum(map(holds, rows)), here=key == show)
            for key, (label, holds) in CHOICES.items()
        ],
        sort=sort,
        paged=Paged(rows=chosen[where.offset : where.offset + where.size], window=where),
        cancelled=_by_attempt(document["cancel_checks"], head),
        ghost_total_s=sum(ghost["total_ns"] or 0 for ghost in ghosts) / 1e9,
        ghost_unknown=sum(ghost["total_ns"] is None for ghost in ghosts),
        release=_release_levels(document["ledgers"]["resource"], len(rows)),
    )


def chosen_attempts(
    rows: tuple[JoinedAttempt, ...], *, show: str, sort: str
) -> list[JoinedAttempt]:
    holds = CHOICES.get(show, CHOICES["all"])[1]
    chosen = [row for row in rows if holds(row)]
    key = SORTS.get(sort.removeprefix("-"))
    if key is not None:
        chosen.sort(key=key, reverse=sort.startswith("-"))  # type: ignore[arg-type]
    return chosen


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


def _release_levels(resource: list[LedgerRow], attempts: int) -> list[ReleaseLevelRow]:
    reached: dict[str, set[str]] = {}
    for row in resource:
        if row["state"] == "released":
            reached.setdefault(row["detail"] or "", set()).add(row["subject"])
    return [
        ReleaseLevelRow(
            level=level,
            meaning=str(meaning),
            count=len(reached.get(level, ())),
            unknown=attempts - len(reached.get(level, ())),
        )
        for level, meaning in words.RELEASE_MEANING.items()
    ]
