"""The index of what is known: studies, artifacts, runs, sealed bundles and the numbers drawn from them.

Per-attempt rows stay in Parquet beside the bundle. No prompt, answer or log text is stored here.
"""

from django.db import models
from django.db.models.functions import Abs

from assay.accounts.models import MAIN_PROJECT, Project
from runners.protocol.events import RunState


class Artifact(models.Model):
    """A verified artifact, by the digest over everything that identifies it."""

    digest = models.CharField(max_length=64, unique=True)
    name = models.CharField(max_length=200)
    revision = models.CharField(max_length=200)
    parent_digest = models.CharField(max_length=64, blank=True)
    document = models.JSONField()  # runners.protocol.documents.ArtifactIdentity
    first_seen = models.DateTimeField(auto_now_add=True)


class Study(models.Model):
    """One submission of one declaration: all its runs share the question."""

    id = models.UUIDField(primary_key=True)  # UUIDv7
    project = models.ForeignKey(
        Project, on_delete=models.PROTECT, related_name="studies", default=MAIN_PROJECT
    )
    name = models.CharField(max_length=200, db_index=True)
    title = models.CharField(max_length=300, blank=True)
    question = models.TextField(blank=True)
    tags = models.JSONField(default=list)
    overrides = models.JSONField(default=list)
    order_seed = models.BigIntegerField(default=0)
    owner = models.CharField(max_length=150, blank=True)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)


class Need(models.Model):
    """What runs need of a machine; see assay.ledger.needs. Runs that need the same share the row."""

    digest = models.CharField(max_length=64, primary_key=True)
    queue = models.CharField(max_length=20)
    document = models.JSONField()  # assay.ledger.needs.NeedDocument


class Run(models.Model):
    """One RunSpec and repetition number. It points to at most one accepted execution."""

    id = models.UUIDField(primary_key=True)  # UUIDv7
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="runs")
    position = models.PositiveIntegerField()  # in the study's recorded order
    repetition = models.PositiveIntegerField(default=0)
    spec = models.JSONField()
    spec_digest = models.CharField(max_length=64, db_index=True)
    variables = models.JSONField(default=dict)  # what this run moves within its study
    artifact = models.ForeignKey(Artifact, null=True, on_delete=models.PROTECT, related_name="runs")
    artifact_name = models.CharField(max_length=200, db_index=True)
    engine_key = models.CharField(max_length=40, db_index=True)
    engine_version = models.CharField(max_length=60)
    device_name = models.CharField(max_length=120)
    queue = models.CharField(max_length=20, default="cpu")  # the spec's device.kind
    # Null for a run that was never queued here.
    need = models.ForeignKey(
        Need, null=True, on_delete=models.PROTECT, related_name="runs", db_index=False
    )
    reserved_by = models.CharField(max_length=200, blank=True)  # an inline run keeps its own runs
    state = models.CharField(
        max_length=12,
        choices=[(s.value, s.value) for s in RunState],
        default=RunState.queued,
        db_index=True,
    )
    state_reason = models.TextField(blank=True)
    accepted_execution = models.UUIDField(null=True)
    cancel_requested = models.BooleanField(default=False)
    progress = models.JSONField(default=dict)  # last runners.protocol.documents.Progress
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "position", "repetition"], name="run_place_in_study"
            )
        ]
        indexes = [
            # Whatever a list of runs filters and sorts by: a run's own row is long, with its spec in it.
            models.Index(
                fields=[
                    "-created_at",
                    "-id",
                    "state",
                    "study",
                    "artifact_name",
                    "engine_key",
                    "engine_version",
                    "device_name",
                ],
                name="run_list",
            ),
            models.Index(
                fields=[
                    "state",
                    "-created_at",
                    "-id",
                    "study",
                    "artifact_name",
                    "engine_key",
                    "engine_version",
                    "device_name",
                ],
                name="run_list_of_state",
            ),
            models.Index(
                fields=["state", "queue", "study", "position", "repetition"],
                name="run_queue_order",
            ),
            # Of the queue alone: small, and in the order in which workers take runs (``queued_of_need``).
            models.Index(
                "need",
                "study",
                Abs("position"),
                "repetition",
                condition=models.Q(state=RunState.queued, reserved_by="", cancel_requested=False),
                name="run_first_of_need",
            ),
            models.Index(fields=["state", "reserved_by"], name="run_reserved"),
            models.Index(fields=["study", "state"], name="run_states_of_study"),
            models.Index(fields=["-ended_at", "state"], name="run_ended"),
        ]


class Bundle(models.Model):
    """A sealed bundle in the store. Rows are never changed once written; triggers hold that."""

    digest = models.CharField(max_length=64, primary_key=True)
    run = models.ForeignKey(Run, null=True, on_delete=models.PROTECT, related_name="bundles")
    execution_id = models.UUIDField()
    state = models.CharField(max_length=12)  # RunState the bundle was sealed in
    spec_digest = models.CharField(max_length=64)
    plan_digest = models.CharField(max_length=64, blank=True)
    bytes = models.BigIntegerField()
    files = models.PositiveIntegerField()
    level = models.CharField(max_length=2)  # E0 | E1 | E2
    identity_complete = models.BooleanField()
    imported = models.BooleanField(default=False)
    sealed_at = models.DateTimeField()


class Interpretation(models.Model):
    """One reading of a bundle by one definition version; append-only."""

    bundle = models.ForeignKey(Bundle, on_delete=models.PROTECT, related_name="interpretations")
    definition_version = models.CharField(max_length=40)
    digest = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["bundle", "definition_version"], name="one_reading_per_version"
            )
        ]


class Quarantined(models.Model):
    """Something that could not be trusted or came too late: kept aside with its reason, never dropped."""

    id = models.UUIDField(primary_key=True)  # UUIDv7
    execution_id = models.UUIDField(null=True)
    run_id = models.UUIDField(null=True)
    bundle_digest = models.CharField(max_length=64, blank=True)
    reason = models.TextField()
    problems = models.JSONField(default=list)  # the files, each with what is wrong
    folder = models.CharField(max_length=500)
    created_at = models.DateTimeField(auto_now_add=True)


class MeasureKind(models.TextChoices):
    """SQLite stores NaN as NULL, so the kind of a value is a column of its own."""

    finite = "finite"
    nan = "nan"
    inf = "inf"
    minus_inf = "-inf"
    missing = "missing"


class Measure(models.Model):
    """One aggregate of an interpretation, with its passport."""

    interpretation = models.ForeignKey(
        Interpretation, on_delete=models.CASCADE, related_name="measures"
    )
    rule = models.CharField(max_length=80)
    statistic = models.CharField(max_length=20)
    value = models.FloatField(null=True)
    kind = models.CharField(max_length=8, choices=MeasureKind.choices)
    unit = models.CharField(max_length=20)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    interval_kind = models.CharField(max_length=60, blank=True)
    n = models.PositiveIntegerField()
    of = models.PositiveIntegerField()
    population = models.TextField()
    perspective = models.CharField(max_length=10)
    limited_by = models.CharField(max_length=2)
    absent = models.TextField(blank=True)

    class Meta:
        indexes = [
            # Numbers are always asked for by their readings; ShownMeasure is asked by rule alone.
            models.Index(fields=["interpretation", "rule", "statistic"], name="measure_of_reading")
        ]


class ShownMeasure(models.Model):
    """The finite number that lists show of a run for one rule and statistic; see assay.ledger.shown."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="shown_measures")
    interpretation = models.ForeignKey(Interpretation, on_delete=models.CASCADE, related_name="+")
    rule = models.CharField(max_length=80)
    statistic = models.CharField(max_length=20)
    value = models.FloatField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "rule", "statistic"], name="one_shown_number")
        ]
        indexes = [
            models.Index(fields=["rule", "statistic", "value", "run"], name="shown_by_value")
        ]


class LedgerCount(models.Model):
    """How many subjects of one ledger ended in one state."""

    interpretation = models.ForeignKey(
        Interpretation, on_delete=models.CASCADE, related_name="ledger_counts"
    )
    ledger = models.CharField(max_length=10)  # client | server | task | resource
    state = models.CharField(max_length=20)
    count = models.PositiveIntegerField()


class GapEntry(models.Model):
    interpretation = models.ForeignKey(
        Interpretation, on_delete=models.CASCADE, related_name="gaps"
    )
    what = models.TextField()
    affects = models.TextField()
    needed = models.TextField()
    state = models.CharField(max_length=12)


class Residual(models.Model):
    """One row of the prediction-versus-measurement table."""

    interpretation = models.ForeignKey(
        Interpretation, on_delete=models.CASCADE, related_name="residuals"
    )
    quantity = models.CharField(max_length=80)
    conditions = models.JSONField(default=dict)
    predicted = models.FloatField(null=True)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    bound = models.FloatField(null=True)
    measured = models.FloatField(null=True)
    unit = models.CharField(max_length=20)
    layer = models.CharField(max_length=40)
    relative = models.FloatField(null=True)
    klass = models.CharField(max_length=24)
    validity = models.CharField(max_length=14)
    reason = models.TextField(blank=True)
