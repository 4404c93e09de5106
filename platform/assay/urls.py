"""URL map of the whole site."""

from django.conf import settings
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, include, path

from assay.pages.views.signin import by_link


def healthz(_request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok", content_type="text/plain")


urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", healthz, name="healthz"),
    path("login/", LoginView.as_view(extra_context={"embedded": settings.EMBEDDED}), name="login"),
    path("login/link/<str:secret>", by_link, name="login-link"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("", include("assay.pages.urls")),
]

handler500 = "assay.pages.views.errors.server_error"
