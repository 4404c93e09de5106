"""The four ledgers side by side: as they ended, or as they stood at an instant, filtered and counted."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import polars as pl

from assay.analysis.absence import Absent
from assay.analysis.clocks import Instant
from assay.analysis.documents import LEDGERS, CancelCheck, LedgerRow
from assay.analysis.ledgers.joined_at import NOT_YET, AttemptAt, ledgers_at
from assay.analysis.reconciliation_steps import Station, stations
from assay.archive.derived_schemas import ATTEMPTS, LEDGER_ROWS
from assay.ledger.models import LedgerCount
from assay.pages import words
from assay.pages.at_instant import attempts_at, extent, next_changes
from assay.pages.contexts.head import RunHead
from assay.pages.contexts.identity import ledger_quote_url
from assay.pages.contexts.ledger_filter import NOTHING_YET, LedgerFilter
from assay.pages.contexts.ledger_sums import Matrix, matrix, told
from assay.pages.contexts.overview import LedgerSummary, ledger_summaries
from assay.pages.hostile import visible
from assay.pages.joined import (
    JoinedAttempt,
    attempts_numbered,
    joined,
)
from assay.pages.paging import Paged, window
from assay.pages.reading import Reading
from runners.protocol.documents import ClocksDocument

NS = 1e9
SLIDER_STEPS = 1000
DETAIL = 400  # characters of what a server said; all of it is in the export
SHOWN_CANCELLED = 10  # attempts; all of them are in the export
SORTS: dict[str, pl.Expr] = {
    "attempt": pl.col("attempt_id"),
    "client": pl.col("client_state"),
    "server": pl.col("server_state"),
    "task": pl.col("task_state"),
    "resource": pl.concat_str("resource_state", "resource_end_detail", ignore_nulls=True),
    "ghost": pl.when("ghost").then(pl.col("ghost_total_ns").fill_null(0)).otherwise(-1),
}
_ENDS = (
    "attempt_id",
    *(f"{ledger}_end_state" for ledger in LEDGERS),
    "resource_end_detail",
    "ghost",
    "ghost_total_ns",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    key: str
    label: str
    count: int
    here: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StateOptions:
    """The states that attempts are in, in one ledger, with how many are."""

    ledger: str
    chosen: str
    options: list[tuple[str, int]]

    @property
    def is_elsewhere(self) -> bool:
        """The chosen state is none that an attempt is in now."""
        return bool(self.chosen) and self.chosen not in dict(self.options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One ledger's word on one attempt; ``absent`` says why there is none."""

    ledger: str
    state: str
    detail: str
    absent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerLine:
    attempt: JoinedAttempt
    cells: list[Cell]
    disagrees: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The instant that is shown, and how far the slider reaches, in seconds from the run's origin."""

    at_s: float | None
    first_s: float
    last_s: float
    step_s: float
    before_s: float | None
    after_s: float | None
    clock_domain: str


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
    stations: list[Station]
    differences: list[str]
    filter: LedgerFilter
    choices: list[Choice]
    options: list[StateOptions]
    matrix: Matrix
    moment: Moment | None
    paged: Paged[LedgerLine]
    cancelled: list[tuple[str, list[CheckRow]]]
    more_cancelled: int
    ghost_total_s: float
    ghost_unknown: int
    release: list[ReleaseLevelRow]


def ledgers_page(head: RunHead, wanted: LedgerFilter, *, page: str | None) -> LedgersPage | None:
    """None when there is no interpretation to read."""
    document = head.reading.document() if head.reading else None
    if head.reading is None or document is None or head.reading.table(ATTEMPTS) is None:
        return None
    clock = client_clock(head.reading, head.folder.clocks() if head.folder else None)
    table = attempts_of(head.reading, wanted, clock)
    chosen = places(table, wanted)
    where = window(len(chosen), page)
    own = chosen[where.offset : where.offset + where.size]
    counts = list(LedgerCount.objects.filter(interpretation=head.interpretation))
    stored = head.reading.stored
    sums = told(head.reading.folder, (head.reading.folder / ATTEMPTS).stat().st_mtime_ns)
    return LedgersPage(
        summaries=ledger_summaries(counts),
        stations=stations(document["reconciliation"]),
        differences=document["reconciliation"]["differences"],
        filter=wanted,
        choices=_choices(table, wanted),
        options=[_options(table, wanted, ledger) for ledger in LEDGERS],
        matrix=matrix(table),
        moment=_moment(head.reading, wanted, clock),
        paged=Paged(rows=lines_of(head.reading, own, wanted, clock), window=where),
        cancelled=_by_attempt(stored.checks(), head),
        more_cancelled=max(0, sums.cancelled - SHOWN_CANCELLED),
        ghost_total_s=sums.ghost_ns / NS,
        ghost_unknown=sums.ghost_unknown,
        release=_release_levels(sums.released, table.height),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """The client's clock domain, and domains whose clocks are not tied to it."""

    domain: str
    uncalibrated: frozenset[str]
    origin_ns: int  # of a stream that was recorded elsewhere: what its times begin with


def client_clock(reading: Reading, clocks: ClocksDocument | None) -> Clock:
    table = reading.table(ATTEMPTS)
    assert table is not None
    names = _client_domains(table, table.stat().st_mtime_ns)
    document = reading.document()
    loose = document.get("observed", {}).get("uncalibrated_domains", ()) if document else ()
    origin = 0
    if not (clocks and clocks["origin_ns"]):
        span = extent(table.parent, (table.parent / LEDGER_ROWS).stat().st_mtime_ns)
        origin = span[0] if span else 0
    return Clock(
        domain=names[0] if len(names) == 1 else "several",
        uncalibrated=frozenset(loose),
        origin_ns=origin,
    )


@lru_cache(maxsize=64)
def _client_domains(path: Path, _modified_ns: int) -> tuple[str, ...]:
    domains = pl.scan_parquet(path).select(pl.col("clock_domain").unique()).collect()
    return tuple(sorted(name for name in domains["clock_domain"] if name))


def attempts_of(reading: Reading, wanted: LedgerFilter, clock: Clock) -> pl.DataFrame:
    """Every attempt with its ``place``, and under ``<ledger>_state`` what is filtered and counted."""
    path = reading.table(ATTEMPTS)
    assert path is not None
    ends = _ends(path, path.stat().st_mtime_ns)
    if wanted.at_s is not None:
        at_ns = clock.origin_ns + round(wanted.at_s * NS)
        now = attempts_at(path.parent, at_ns, clock.domain, clock.uncalibrated)
        ends = pl.concat(
            [ends, now.select(pl.exclude("attempt_id", "ghost"))], how="horizontal"
        ).with_columns(at=pl.lit(at_ns))
    return ends.with_columns(pl.col(f"{n}{wanted.suffix}").alias(f"{n}_state") for n in LEDGERS)


@lru_cache(maxsize=6)
def _ends(path: Path, _modified_ns: int) -> pl.DataFrame:
    return pl.scan_parquet(path).select(_ENDS).with_row_index("place").collect()


def places(table: pl.DataFrame, wanted: LedgerFilter) -> list[int]:
    """Row numbers of the chosen attempts, in the asked order."""
    chosen = table.filter(wanted.narrowed() & wanted.choices[wanted.show][1])
    key = SORTS.get(wanted.sort.removeprefix("-"))
    if key is not None:
        descending = wanted.sort.startswith("-")
        chosen = chosen.sort(key, descending=descending, nulls_last=True, maintain_order=True)
    return chosen["place"].to_list()


def _choices(table: pl.DataFrame, wanted: LedgerFilter) -> list[Choice]:
    """How many attempts each choice would show with the other filters as they are."""
    own = table.filter(wanted.narrowed())
    columns = [
        pl.len().alias(key) if key == "all" else holds.sum().alias(key)
        for key, (_label, holds) in wanted.choices.items()
    ]
    counted = own.select(columns).row(0, named=True)
    return [
        Choice(key=key, label=str(label), count=counted[key], here=key == wanted.show)
        for key, (label, _holds) in wanted.choices.items()
    ]


def _options(table: pl.DataFrame, wanted: LedgerFilter, ledger: str) -> StateOptions:
    counted = table[f"{ledger}_state"].value_counts()
    states = {state or NOTHING_YET: count for state, count in counted.iter_rows()}
    return StateOptions(
        ledger=ledger,
        chosen=wanted.states.get(ledger, ""),
        options=words.in_order(ledger, states),
    )


def _moment(reading: Reading, wanted: LedgerFilter, clock: Clock) -> Moment | None:
    path = reading.table(LEDGER_ROWS)
    span = extent(path.parent, path.stat().st_mtime_ns) if path else None
    if path is None or span is None:
        return None
    first, last = ((t - clock.origin_ns) / NS for t in span)
    before = after = None
    if wanted.at_s is not None:
        before, after = next_changes(path.parent, clock.origin_ns + round(wanted.at_s * NS))
    return Moment(
        at_s=wanted.at_s,
        first_s=min(0.0, first),
        last_s=last,
        step_s=max((last - min(0.0, first)) / SLIDER_STEPS, 1e-6),
        before_s=None if before is None else (before - clock.origin_ns) / NS,
        after_s=None if after is None else (after - clock.origin_ns) / NS,
        clock_domain=clock.domain,
    )


def lines_of(
    reading: Reading, own: Sequence[int], wanted: LedgerFilter, clock: Clock
) -> list[LedgerLine]:
    attempts = joined(attempts_numbered(reading, own))
    if wanted.at_s is None:
        return [
            LedgerLine(attempt=a, cells=[_end(a, n) for n in LEDGERS], disagrees=a.disagrees)
            for a in attempts
        ]
    at = Instant(
        t_ns=clock.origin_ns + round(wanted.at_s * NS), clock_domain=clock.domain, error_ns=0
    )
    subjects = [a.attempt_id for a in attempts] + [a.task_id for a in attempts if a.task_id]
    rows = reading.stored.rows_of_subjects(subjects)
    found = {a.attempt_id: a for a in ledgers_at(rows, at, uncalibrated=clock.uncalibrated)}
    return [
        LedgerLine(
            attempt=a,
            cells=[_stood(found.get(a.attempt_id), name) for name in LEDGERS],
            disagrees=False,
        )
        for a in attempts
    ]


def _end(attempt: JoinedAttempt, ledger: str) -> Cell:
    end = getattr(attempt, ledger)
    if end is None:
        return Cell(ledger=ledger, state="", detail="", absent=str(words.NO_RECORD[ledger]))
    return Cell(ledger=ledger, state=end.state, detail=visible(end.detail, DETAIL), absent="")


def _stood(at: AttemptAt | None, ledger: str) -> Cell:
    row: LedgerRow | Absent = getattr(at, ledger) if at else Absent(str(words.NO_RECORD[ledger]))
    if row is NOT_YET:
        return Cell(ledger=ledger, state="", detail=NOT_YET.reason, absent=str(words.NOT_YET))
    if isinstance(row, Absent):
        return Cell(ledger=ledger, state="", detail="", absent=row.reason)
    detail = visible(row["detail"] or "", DETAIL)
    return Cell(ledger=ledger, state=row["state"], detail=detail, absent="")


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
        if check["attempt_id"] in found or len(found) < SHOWN_CANCELLED:
            found.setdefault(check["attempt_id"], []).append(check_row(check, head))
    return list(found.items())


def _release_levels(reached: dict[str, int], attempts: int) -> list[ReleaseLevelRow]:
    return [
        ReleaseLevelRow(
            level=level,
            meaning=str(meaning),
            count=reached.get(level, 0),
            unknown=attempts - reached.get(level, 0),
        )
        for level, meaning in words.RELEASE_MEANING.items()
    ]
