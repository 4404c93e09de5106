"""Django's name for this app."""

from django.apps import AppConfig


class PagesConfig(AppConfig):
    name = "assay.pages"
    label = "pages"
