"""Executions: tries of a run by a worker, each with its own folder, lease and fencing token.

And what they run on: workers as they registered themselves, devices, and who holds which; and the shares of
a run's load that other workers send.
"""

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
        # What a reaper asks for: without them it would read every execution there ever was.
        indexes = [
            models.Index(fields=["state", "leased_until"], name="execution_lease"),
            models.Index(fields=["state", "ended_at"], name="execution_end"),
        ]

    @property
    def out(self) -> Path:
        """Where the runner works: its progress, its segments and the bundle."""
        return Path(self.folder) / OUT_FOLDER


class Registration(models.Model):
    """A worker that serves here, as it said when it started; the row goes with it."""

    worker = models.CharField(max_length=200, primary_key=True)  # assay.execution.machine.Worker
    host = models.CharField(max_length=200)
    machine = models.CharField(
        max_length=64
    )  # the kernel's boot id: containers of one host share it
    offer = models.JSONField()  # assay.execution.offers.Offer: queues, devices, engines, memory
    registered_at = models.DateTimeField()
    seen_at = models.DateTimeField(db_index=True)  # the database's now() at its last sign of life


class Device(models.Model):
    """One device of one machine. Whoever measures on it holds it alone."""

    id = models.CharField(
        max_length=120, primary_key=True
    )  # the driver's unique id where it has one
    machine = models.CharField(max_length=64, db_index=True)
    host = models.CharField(max_length=200)
    kind = models.CharField(max_length=20)  # cpu | cuda
    index = models.PositiveIntegerField()
    name = models.CharField(max_length=200)
    memory_bytes = models.BigIntegerField(null=True)
    fence = models.PositiveBigIntegerField(default=0)  # of the newest lease; only ever rises
    seen_at = models.DateTimeField()


class DeviceLease(models.Model):
    """That an execution held a device. At most one lease of a device is open, the database sees to it."""

    device = models.ForeignKey(Device, on_delete=models.PROTECT, related_name="leases")
    execution = models.ForeignKey(Execution, on_delete=models.PROTECT, related_name="devices")
    fence = models.PositiveBigIntegerField()
    taken_at = models.DateTimeField()
    released_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["device", "fence"], name="one_lease_per_fence"),
            models.UniqueConstraint(
                fields=["device"],
                condition=models.Q(released_at=None),
                name="one_open_lease_per_device",
            ),
        ]


class ShareState(models.TextChoices):
    planned = "planned"  # the run was claimed; its plan is being made
    offered = "offered"  # ``document`` says where the plan lies
    claimed = "claimed"
    done = "done"  # what it captured is with the run
    failed = "failed"
    lost = "lost"  # its lease ran out
    withdrawn = "withdrawn"  # the run ended, or never came to its load


class LoadShare(models.Model):
    """One client process of a run's load, sent from another worker's machine: a load worker's.

    ``told`` is written by the run's own worker alone, ``said`` by the load worker alone, each with its token
    in the WHERE. They hold the newest word of each kind, see assay.execution.load_shares.
    """

    execution = models.ForeignKey(Execution, on_delete=models.PROTECT, related_name="shares")
    process = models.PositiveIntegerField()  # its mark in attempts and wire, from 1
    # Where alone it may be sent from: a machine, or one network of it; empty for anywhere.
    machine = models.CharField(max_length=64, blank=True)
    state = models.CharField(max_length=10, choices=ShareState.choices, default=ShareState.planned)
    document = models.JSONField(null=True)
    token = models.CharField(max_length=64, blank=True)
    worker = models.CharField(max_length=200, blank=True)  # assay.execution.machine.Worker
    folder = models.CharField(max_length=500, blank=True)
    leased_until = models.DateTimeField(null=True)
    told = models.JSONField(default=dict)
    said = models.JSONField(default=dict)
    reason = models.TextField(blank=True)
    claimed_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["execution", "process"], name="one_share_per_process")
        ]
        indexes = [models.Index(fields=["state", "leased_until"], name="share_lease")]


class Look(models.Model):
    """When somebody last looked for leases that ran out; see assay.execution.watch. One row."""

    looked_at = models.DateTimeField()
