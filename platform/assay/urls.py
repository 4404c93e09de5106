"""URL map of the whole site."""

from django.contrib.auth.views import LogoutView
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, include, path

from assay.pages.views.language import language
from assay.pages.views.operations import metrics, readyz
from assay.pages.views.signin import SignIn, by_link


def healthz(_request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok", content_type="text/plain")


urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("login/", SignIn.as_view(), name="login"),
    path("login/link/<str:secret>", by_link, name="login-link"),
    path("language/<slug:code>", language, name="language"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("api/v1/", include("assay.api.urls")),
    path("", include("assay.pages.urls")),
]

handler500 = "assay.pages.views.errors.server_error"
