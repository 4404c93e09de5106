"""Searches that somebody keeps under a name. Nobody sees those of others."""

from collections.abc import Sequence

from django.db import transaction

from assay.accounts.models import ListPage, SavedView
from experiments.errors import Refusal, refuse

MOST = 50  # views of one person
LONGEST_NAME = 80
LONGEST_QUERY = 1000


@transaction.atomic
def save_view(
    user_id: int, page: ListPage, *, name: str, query: str, columns: Sequence[str]
) -> SavedView:
    """Keep a search; one of the same name is replaced. Raises Refusal without a usable name."""
    name = " ".join(name.split())
    if not 0 < len(name) <= LONGEST_NAME:
        raise refuse(
            field="name",
            seen=f"{len(name)} characters",
            allowed=f"1 to {LONGEST_NAME} characters",
            remedy="Name the view by what it shows.",
        )
    if len(query) > LONGEST_QUERY:
        raise refuse(
            field="query",
            seen=f"{len(query)} characters",
            allowed=f"{LONGEST_QUERY} characters",
            remedy="Shorten the search.",
        )
    mine = SavedView.objects.filter(user_id=user_id)
    if not mine.filter(page=page, name=name).exists() and mine.count() >= MOST:
        raise _full()
    view, _ = SavedView.objects.update_or_create(
        user_id=user_id,
        page=page,
        name=name,
        defaults={"query": query, "columns": list(columns)},
    )
    return view


def delete_view(user_id: int, view_id: int) -> bool:
    """False when that person has no such view."""
    deleted, _ = SavedView.objects.filter(user_id=user_id, id=view_id).delete()
    return bool(deleted)


def _full() -> Refusal:
    return refuse(
        field="views",
        seen=f"{MOST} views",
        allowed=f"{MOST} views of one person",
        remedy="Delete one that is no longer used.",
    )
