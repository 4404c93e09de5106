"""Django's name for this app."""

from django.apps import AppConfig


class VersionsConfig(AppConfig):
    name = "assay.versions"
    label = "versions"
