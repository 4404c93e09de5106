"""Django's name for this app."""

from django.apps import AppConfig


class ReviewConfig(AppConfig):
    name = "assay.review"
    label = "review"
