"""Django's name for this app; the main team and project exist wherever its tables do."""

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class AccountsConfig(AppConfig):
    name = "assay.accounts"
    label = "accounts"

    def ready(self) -> None:
        post_migrate.connect(_main_project, sender=self)


def _main_project(**_: Any) -> None:
    from assay.accounts.services import main_project

    main_project()
