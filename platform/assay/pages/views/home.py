"""The first page, and the part of it that moves."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from assay.pages.contexts.home import activity, home_page
from assay.pages.middleware import request_access


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    access = request_access(request)
    if getattr(request, "htmx", None) and request.GET.get("part") == "activity":
        return render(request, "pages/home/_activity.html", {"activity": activity(access)})
    return render(request, "pages/home/home.html", {"page": home_page(access), "section": "home"})
