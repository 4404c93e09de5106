"""The reader's own views: each a link that does a search again."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from assay.accounts.access import Access
from assay.accounts.models import ListPage, SavedView


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewLine:
    id: int
    name: str
    page: str
    query: str
    columns: Sequence[str]
    address: str


def view_lines(access: Access, page: ListPage | None = None) -> list[ViewLine]:
    """Of one list, or of all."""
    if access.user.pk is None:
        return []
    views = SavedView.objects.filter(user_id=access.user.pk).order_by("page", "name")
    return [view_line(view) for view in (views if page is None else views.filter(page=page))]


def view_line(view: SavedView) -> ViewLine:
    columns = [str(name) for name in view.columns]
    given = {"q": view.query, "columns": ",".join(columns)}
    parameters = urlencode({name: value for name, value in given.items() if value})
    return ViewLine(
        id=view.pk,
        name=view.name,
        page=view.page,
        query=view.query,
        columns=columns,
        address=f"{reverse(view.page)}?{parameters}",
    )
