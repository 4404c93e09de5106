"""Executions: tries of a run by a worker, each with its own folder, lease and fencing token."""

from django.db import models

from assay.ledger.models import Run


class Execution(models.Model):
    id = models.UUIDField(primary_key=True)  # UUIDv7
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="executions")
    token = models.CharField(
        max_length=64
    )  # repeated in the WHERE of every write of this execution
    worker = models.CharField(max_length=200)
    folder = models.CharField(max_length=500)
    state = models.CharField(max_length=12)  # running | ended | lost | quarantined
    leased_until = models.DateTimeField(
        null=True, db_index=True
    )  # the database's now() plus the lease
    started_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)
    exit_code = models.IntegerField(null=True)
    bundle_digest = models.CharField(max_length=64, blank=True)
