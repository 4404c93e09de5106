"""The large tables of a run, a page at a time: ledger rows, the ledgers at an instant, attempts."""

from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import Http404, HttpRequest
from ninja import Query, Router
from pydantic import Field

from assay.analysis.quantities import instant_ns
from assay.api.errors import answers
from assay.api.paging import Paged, Paging, place
from assay.api.readings import Reading, reading_of
from assay.api.texts import Words
from assay.archive import instants, reading_pages
from assay.archive.reading_pages import Rows
from assay.archive.stored_reading import StoredReading

router = Router(tags=["tables"])

Ledger = Literal["client", "server", "task", "resource"]
LONG = 1000
MOST_ATTEMPTS = 100  # whole ones, text and chunk times and all


class LongPaging(Paging):
    """Rows are short here: more fit on a page."""

    size: Annotated[int, Field(ge=1, le=LONG)] = 100


class AttemptPaging(Paging):
    size: Annotated[int, Field(ge=1, le=MOST_ATTEMPTS)] = 25


class LedgerRows(Paged, Reading):
    ledger: Ledger
    rows: list[dict[str, Any]]


class LedgersAt(Paged, Reading):
    """Every attempt with the row that holds in each ledger; null beside its reason in ``absent``."""

    at_ns: int
    clock_domain: str | None
    attempts: list[dict[str, Any]]


class Attempts(Paged, Reading):
    attempts: list[dict[str, Any]]


class Attempt(Reading):
    attempt: dict[str, Any]
    lanes: list[dict[str, Any]]
    ghost_load: dict[str, Any] | None
    previous: str | None
    next: str | None


@router.get("/{uuid:run_id}/ledgers/{ledger}", response=answers(LedgerRows))
def get_ledger(
    request: HttpRequest,
    run_id: UUID,
    ledger: Ledger,
    paging: Query[LongPaging],
    subject: Words | None = None,
) -> dict[str, Any]:
    """Rows of one ledger; ``subject`` keeps those of one attempt or task."""
    reading, head = reading_of(run_id)
    found = (
        _none()
        if reading is None
        else reading_pages.ledger(
            reading, ledger, first=paging.first, count=paging.size, subject=subject
        )
    )
    return {**head, "ledger": ledger, "rows": found.rows, **place(paging, found.total)}


@router.get("/{uuid:run_id}/ledgers", response=answers(LedgersAt))
def get_ledgers_at(
    request: HttpRequest, run_id: UUID, at: Words, paging: Query[LongPaging]
) -> dict[str, Any]:
    """The four ledgers at one instant of the run: ``at=2000ms``, or whole ns from its origin."""
    at_ns = instant_ns(at, field="query.at")
    reading, head = reading_of(run_id)
    document: dict[str, Any] = {"at_ns": at_ns, "clock_domain": None, "attempts": []}
    if reading is not None:
        document = instants.at_instant(reading, at_ns, first=paging.first, count=paging.size)
    return {**head, **document, **place(paging, _attempt_count(reading))}


@router.get("/{uuid:run_id}/attempts", response=answers(Attempts))
def list_attempts(
    request: HttpRequest, run_id: UUID, paging: Query[AttemptPaging]
) -> dict[str, Any]:
    """Attempts whole, as ``assay interpret`` prints them, in the order in which the client made them."""
    reading, head = reading_of(run_id)
    found = (
        _none()
        if reading is None
        else reading_pages.attempts(reading, first=paging.first, count=paging.size)
    )
    return {**head, "attempts": found.rows, **place(paging, found.total)}


@router.get("/{uuid:run_id}/attempts/{path:attempt_id}", response=answers(Attempt))
def get_attempt(request: HttpRequest, run_id: UUID, attempt_id: str) -> dict[str, Any]:
    """One attempt, with its lanes and what the server went on with after the client gave up."""
    reading, head = reading_of(run_id)
    found = reading.attempt(attempt_id) if reading else None
    if found is None:
        raise Http404
    return {
        **head,
        "attempt": found.reading,
        "lanes": found.lanes,
        "ghost_load": found.ghost,
        "previous": found.previous,
        "next": found.next,
    }


def _none() -> Rows:
    return Rows(rows=[], total=0)


def _attempt_count(reading: StoredReading | None) -> int:
    return 0 if reading is None else reading_pages.attempts(reading, first=0, count=0).total
