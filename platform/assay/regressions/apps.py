"""Django's name for this app."""

from django.apps import AppConfig


class RegressionsConfig(AppConfig):
    name = "assay.regressions"
    label = "regressions"
