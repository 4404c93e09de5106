"""Executions: tries of a run by a worker, each with its own folder, lease and fencing token."""

from pathlib import Path

from django.db import models

from assay.ledger.models import Run

OUT_FOLDER = "out"  # inside an execution's folder: what the runner writes, the bundle in it


class ExecutionState(models.TextChoices):
    running = "running"
    ended = "ended"
    lost = "lost"  # the lease ran out; ``ended_at`` is set once what was left is swept and sealed
    quarantined = "quarantined"  # its bundle could not be trusted


class Execution(models.Model):
    """One try. ``ended_at`` closes the row: from then on triggers refuse to change it."""

    id = models.UUIDField(primary_key=True)  # UUIDv7
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="executions")
    token = models.CharField(
        max_length=64
    )  # repeated in the WHERE of every write of this execution
    worker = models.CharField(max_length=200)  # assay.execution.machine.Worker, as text
    folder = models.CharField(max_length=500)
    state = models.CharField(
        max_length=12, choices=ExecutionState.choices, default=ExecutionState.running
    )
    leased_until = models.DateTimeField(
        null=True, db_index=True
    )  # the database's now() plus the lease
    started_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)
    exit_code = models.IntegerField(null=True)
    bundle_digest = models.CharField(max_length=64, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run"],
                condition=models.Q(state=ExecutionState.running),
                name="one_running_execution_per_run",
            )
        ]

    @property
    def out(self) -> Path:
        """Where the runner works: its progress, its segments and the bundle."""
        return Path(self.folder) / OUT_FOLDER
