"""Django's name for this app."""

from django.apps import AppConfig


class ExecutionConfig(AppConfig):
    name = "assay.execution"
    label = "execution"
