"""The list of runs: those that a search keeps, one page of rows, their chosen numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from assay.accounts.access import Access
from assay.accounts.models import Action, ListPage
from assay.ledger.models import Run
from assay.ledger.run_query.vocabulary import ENDED, LIVE
from assay.ledger.visibility import visible_runs, visible_studies
from assay.pages import words
from assay.pages.contexts.measures import Headline
from assay.pages.contexts.run_order import DEFAULT_SORT, kept_runs, ordered_ids
from assay.pages.contexts.run_rows import RunRow, for_rows, run_rows
from assay.pages.contexts.saved_views import ViewLine, view_lines
from assay.pages.contexts.search import Language, Search, language
from assay.pages.paging import Paged, window

OFFERED_VALUES = 200  # of a drop-down; a longer list is typed into the query
MOST_COMPARED = 8
EXPORT_LIMIT = 10_000
_EXPORT_ROWS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsPage:
    search: Search
    paged: Paged[RunRow]
    live: bool
    nothing_yet: bool
    states: Sequence[str]
    studies: Sequence[str]
    artifacts: Sequence[str]
    engines: Sequence[str]
    views: Sequence[ViewLine]
    language: Language
    may_tag: bool
    most_compared: int = MOST_COMPARED

    @property
    def sort(self) -> str:
        return self.search.sort or DEFAULT_SORT


def runs_page(wanted: Search, page: str | None, access: Access) -> RunsPage:
    kept = kept_runs(wanted, access)
    where = window(kept.count(), page)
    ids = ordered_ids(wanted, kept, where.offset, where.offset + where.size)
    rows = _rows_of(ids, wanted.columns.headlines)
    names = visible_studies(access).order_by().values_list("name", flat=True)
    served = visible_runs(access).order_by().values_list("artifact_name", "engine_key").distinct()
    pairs = list(served[:OFFERED_VALUES])
    return RunsPage(
        search=wanted,
        paged=Paged(rows=rows, window=where),
        live=any(row.live for row in rows),
        nothing_yet=where.total == 0 and not wanted.active,
        states=[LIVE, ENDED, *words.RUN_STATES],
        studies=sorted(names.distinct()[:OFFERED_VALUES]),
        artifacts=sorted({artifact for artifact, _ in pairs}),
        engines=sorted({engine for _, engine in pairs}),
        views=view_lines(access, ListPage.runs),
        language=language(),
        may_tag=access.anywhere(Action.write),
    )


def exported_rows(wanted: Search, access: Access) -> Iterator[RunRow]:
    """Every row that the search keeps, up to ``EXPORT_LIMIT``, read a part at a time."""
    ids = ordered_ids(wanted, kept_runs(wanted, access), 0, EXPORT_LIMIT)
    for at in range(0, len(ids), _EXPORT_ROWS):
        yield from _rows_of(ids[at : at + _EXPORT_ROWS], wanted.columns.headlines)


def _rows_of(ids: Sequence[UUID], headlines: Sequence[Headline]) -> list[RunRow]:
    found = {run.id: run for run in for_rows(Run.objects.filter(id__in=ids))}
    return run_rows([found[run_id] for run_id in ids if run_id in found], headlines)
