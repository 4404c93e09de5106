"""Searches that somebody keeps: their list, and keeping or deleting one."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from assay.accounts.models import ListPage
from assay.accounts.saved_views import delete_view, save_view
from assay.pages.contexts.columns import chosen_columns
from assay.pages.contexts.saved_views import view_line, view_lines
from assay.pages.middleware import request_access
from experiments.errors import Refusal, refuse


@require_http_methods(["GET", "HEAD", "POST"])
def saved_views(request: HttpRequest) -> HttpResponse:
    """A view belongs to a person and to no project: whoever may look may keep what they look for."""
    access = request_access(request)
    user_id = request.user.pk
    assert user_id is not None
    problems = []
    if request.method == "POST":
        if request.POST.get("delete", "").isdecimal():
            delete_view(user_id, int(request.POST["delete"][:18]))
            return redirect("saved-views")
        try:
            view = save_view(
                user_id,
                _page(request.POST.get("page", "")),
                name=request.POST.get("name", ""),
                query=request.POST.get("q", ""),
                columns=[n for n in chosen_columns(request.POST).address.split(",") if n],
            )
        except Refusal as refusal:
            problems = list(refusal.findings)
        else:
            return redirect(view_line(view).address)
    context = {"views": view_lines(access), "problems": problems, "section": "runs"}
    return render(request, "pages/views/list.html", context, status=422 if problems else 200)


def _page(name: str) -> ListPage:
    if name not in ListPage.values:
        raise refuse(
            field="page",
            seen=name[:40],
            allowed=", ".join(ListPage.values),
            remedy="Save a view from the list that it is of.",
        )
    return ListPage(name)
