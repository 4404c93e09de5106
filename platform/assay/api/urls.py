"""Addresses of the API: its description for people, then the API itself."""

from django.urls import URLPattern, URLResolver, path

from assay.api.docs import docs
from assay.api.site import api

urlpatterns: list[URLPattern | URLResolver] = [
    path("docs", docs, name="api-docs"),
    path("", api.urls),
]
