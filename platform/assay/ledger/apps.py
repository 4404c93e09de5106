"""Django's name for this app."""

from django.apps import AppConfig


class LedgerConfig(AppConfig):
    name = "assay.ledger"
    label = "ledger"
