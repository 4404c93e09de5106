"""The list of studies: those that a search keeps, with how their runs stand."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, QuerySet
from django.utils import timezone

from assay.accounts.access import Access
from assay.accounts.models import ListPage
from assay.ledger.models import Run, Study
from assay.ledger.run_query.conditions import on_studies
from assay.ledger.visibility import visible_studies
from assay.pages import words
from assay.pages.contexts.saved_views import ViewLine, view_lines
from assay.pages.contexts.search import Language, Search, language, me
from assay.pages.paging import Paged, window

SORTS = {"created": "created_at", "study": "name", "author": "owner"}
DEFAULT_SORT = "-created"
EXPORT_LIMIT = 10_000
_ORDER = {state: place for place, state in enumerate(words.RUN_STATES)}


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRow:
    study: Study
    states: Sequence[tuple[str, int]]  # of its runs, in the order of a run's life

    @property
    def runs(self) -> int:
        return sum(count for _, count in self.states)

    @property
    def live(self) -> bool:
        return any(state in words.LIVE_STATES for state, _ in self.states)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudiesPage:
    search: Search
    paged: Paged[StudyRow]
    live: bool
    nothing_yet: bool
    views: Sequence[ViewLine]
    language: Language

    @property
    def sort(self) -> str:
        return _sort(self.search)


def chosen_studies(wanted: Search, access: Access) -> QuerySet[Study]:
    """Studies that the search keeps, in the asked order."""
    kept = on_studies(wanted.query, now=timezone.now(), me=me(access))
    sort = _sort(wanted)
    descending = "-" if sort.startswith("-") else ""
    order = descending + SORTS[sort.removeprefix("-")]
    return visible_studies(access).filter(kept).order_by(order, "-created_at", "-id")


def studies_page(wanted: Search, page: str | None, access: Access) -> StudiesPage:
    chosen = chosen_studies(wanted, access)
    where = window(chosen.count(), page)
    rows = _rows(list(chosen[where.offset : where.offset + where.size]))
    return StudiesPage(
        search=wanted,
        paged=Paged(rows=rows, window=where),
        live=any(row.live for row in rows),
        nothing_yet=where.total == 0 and not wanted.active,
        views=view_lines(access, ListPage.studies),
        language=language(),
    )


def exported_studies(wanted: Search, access: Access) -> list[StudyRow]:
    return _rows(list(chosen_studies(wanted, access)[:EXPORT_LIMIT]))


def _sort(wanted: Search) -> str:
    """An order that studies have none of, by a number for instance, is the usual one."""
    return wanted.sort if wanted.sort.removeprefix("-") in SORTS else DEFAULT_SORT


def _rows(studies: Sequence[Study]) -> list[StudyRow]:
    counted = (
        Run.objects.filter(study__in=[study.pk for study in studies])
        .order_by()
        .values_list("study_id", "state")
        .annotate(Count("id"))
    )
    states: dict[UUID, list[tuple[str, int]]] = defaultdict(list)
    for study_id, state, count in counted:
        states[study_id].append((state, count))
    return [
        StudyRow(study=s, states=sorted(states[s.pk], key=lambda pair: _ORDER.get(pair[0], 99)))
        for s in studies
    ]
