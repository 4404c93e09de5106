"""Django's name for this app."""

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    name = "assay.notifications"
    label = "notifications"
