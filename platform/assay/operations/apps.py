"""Django's name for this app."""

import os

from django.apps import AppConfig

from assay.archive.remote.location import VARIABLE


class OperationsConfig(AppConfig):
    name = "assay.operations"
    label = "operations"

    def ready(self) -> None:
        """Worker and scheduler have to know the task; a machine without an archive does without."""
        if os.environ.get(VARIABLE):
            from assay.operations.tasks import schedule

            schedule()
