"""Schedules and their firings, the metrics they watch, baselines, checks and findings."""

from uuid import uuid4

from django.db import models

from assay.accounts.models import Project
from assay.analysis.regression.answers import Answer, Better
from assay.ledger.models import Run, Study


class Missed(models.TextChoices):
    """What becomes of slots that passed while nothing ticked."""

    skip = "skip"  # each is written down as missed
    newest = "newest"  # the newest is run, the others are written down
    all = "all"  # every one is run


class Trigger(models.TextChoices):
    cron = "cron"
    engine_version = "engine_version"  # when a new version of its engine is installed
    demand = "demand"  # only when somebody asks


class Against(models.TextChoices):
    """Which baseline the starts of a schedule are held against."""

    newest = (
        "newest"  # the newest level on record: the first twelve starts, until another is accepted
    )
    approved = "approved"  # the newest that somebody signed; without one there is none
    pinned = "pinned"  # the newest whose starts somebody named
    rolling = "rolling"  # the twelve starts before; goes silent on a level shift


class Schedule(models.Model):
    """A study that is run again and again, and what is watched of it."""

    id = models.UUIDField(primary_key=True, default=uuid4)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="schedules")
    name = models.CharField(max_length=120)
    overrides = models.JSONField()  # the declaration: ["study=smollm2_torch", ...]
    trigger = models.CharField(max_length=16, choices=Trigger.choices, default=Trigger.cron)
    cron = models.CharField(max_length=120, blank=True)
    zone = models.CharField(max_length=60, default="UTC")
    variable = models.CharField(max_length=120, blank=True)  # the one field that may move
    against = models.CharField(max_length=10, choices=Against.choices, default=Against.newest)
    missed = models.CharField(max_length=8, choices=Missed.choices, default=Missed.newest)
    quiet_from = models.TimeField(null=True)
    quiet_to = models.TimeField(null=True)
    paused = models.BooleanField(default=False)
    owner = models.CharField(max_length=150)
    looked_until = models.DateTimeField()  # slots up to here are firings already
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="one_schedule_of_a_name")
        ]


class FiringState(models.TextChoices):
    waiting = "waiting"  # held by quiet hours
    submitted = "submitted"
    missed = "missed"
    refused = "refused"  # its declaration does not hold any more


class Firing(models.Model):
    """One slot of one schedule. The unique key is what keeps it from firing twice."""

    schedule = models.ForeignKey(Schedule, on_delete=models.PROTECT, related_name="firings")
    slot = models.DateTimeField()
    due_at = models.DateTimeField(db_index=True)
    state = models.CharField(max_length=10, choices=FiringState.choices)
    study = models.ForeignKey(Study, null=True, on_delete=models.PROTECT, related_name="firings")
    note = models.TextField(blank=True)
    version = models.CharField(max_length=80, blank=True)  # of the engine, that made it fire
    overrides = models.JSONField(default=list)  # on top of the schedule's: the pin of that version
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["schedule", "slot"], name="one_firing_of_a_slot"),
            models.UniqueConstraint(
                fields=["schedule", "version"],
                condition=~models.Q(version=""),
                name="one_firing_of_a_version",
            ),
        ]


class Watch(models.Model):
    """A metric of a schedule's runs under watch, in both directions."""

    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="watches")
    rule = models.CharField(max_length=80)
    statistic = models.CharField(max_length=20)
    better = models.CharField(
        max_length=6, choices=[(b.value, b.value) for b in Better], blank=True
    )  # empty: it may not change at all

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["schedule", "rule", "statistic"], name="one_watch_of_a_metric"
            )
        ]


class BaselineKind(models.TextChoices):
    first = "first"  # the first twelve starts of a segment
    pinned = "pinned"  # somebody named the starts
    accepted = "accepted"  # a new level, the relative spread of the one before
    approved = "approved"  # somebody signed the one before as it stood
    rolling = "rolling"  # the twelve starts before the one that was judged


class BaselineRecord(models.Model):
    """What a watched metric is measured against, until somebody accepts another. Rows are only added."""

    watch = models.ForeignKey(Watch, on_delete=models.PROTECT, related_name="baselines")
    segment = models.CharField(max_length=64)  # digest of the identity of its starts
    kind = models.CharField(max_length=8, choices=BaselineKind.choices)
    level = models.FloatField()
    scale = models.FloatField()
    starts = models.PositiveIntegerField()
    runs = models.JSONField()  # ids of the runs it is from
    last_run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="+")
    accepted_by = models.CharField(max_length=150, blank=True)
    reason = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)


class Finding(models.Model):
    """A confirmed change of a group of metrics, opened once."""

    id = models.UUIDField(primary_key=True, default=uuid4)
    schedule = models.ForeignKey(Schedule, on_delete=models.PROTECT, related_name="findings")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="findings")
    metrics = models.JSONField()  # [{"metric", "change", "error", "starts", "answer"}]
    segment = models.CharField(max_length=64)
    identity = models.JSONField()  # fields that differ from the baseline's last run
    records = models.JSONField()  # ids of version records between the two engine versions
    residuals = models.JSONField()  # quantities whose residual moved
    state = models.CharField(
        max_length=12,
        choices=[(s, s) for s in ("open", "acknowledged", "expected", "fixed")],
        default="open",
    )
    owner = models.CharField(max_length=150, blank=True)
    opened_at = models.DateTimeField(auto_now_add=True)


class FindingStep(models.Model):
    """Who moved a finding to which state, and what they said. Rows are only added."""

    finding = models.ForeignKey(Finding, on_delete=models.PROTECT, related_name="steps")
    by = models.CharField(max_length=150)
    state = models.CharField(max_length=12)
    comment = models.TextField(blank=True)
    at = models.DateTimeField(auto_now_add=True)


class CheckRecord(models.Model):
    """The answer for one watched metric of one scheduled run (null: none came). Rows are only added."""

    watch = models.ForeignKey(Watch, on_delete=models.PROTECT, related_name="checks")
    firing = models.ForeignKey(Firing, null=True, on_delete=models.PROTECT, related_name="checks")
    run = models.ForeignKey(Run, null=True, on_delete=models.PROTECT, related_name="checks")
    answer = models.CharField(max_length=16, choices=[(a.value, a.value) for a in Answer])
    reason = models.TextField()
    value = models.FloatField(null=True)
    change = models.FloatField(null=True)  # relative to the baseline's level
    baseline = models.ForeignKey(
        BaselineRecord, null=True, on_delete=models.PROTECT, related_name="checks"
    )
    finding = models.ForeignKey(Finding, null=True, on_delete=models.PROTECT, related_name="checks")
    at = models.DateTimeField(auto_now_add=True)


class LookBack(models.Model):
    """The weekly look back over a metric's newest segment: where it changed its level, and its drift."""

    watch = models.ForeignKey(Watch, on_delete=models.CASCADE, related_name="looks_back")
    week = models.DateField()  # its Monday, UTC
    starts = models.PositiveIntegerField()
    points = models.JSONField()  # [{"run", "before", "after", "change"}]
    drift = models.JSONField(null=True)  # {"change", "slope", "p", "starts"}; null: nothing to say
    reason = models.TextField(blank=True)  # why there is no drift to speak of
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["watch", "week"], name="one_look_back_a_week")
        ]


class Bisection(models.Model):
    """Somebody asked which of the installed versions between two brought a finding's change."""

    finding = models.ForeignKey(Finding, on_delete=models.PROTECT, related_name="bisections")
    metric = models.CharField(max_length=120)
    versions = models.JSONField()  # oldest first, both ends included
    overrides = models.JSONField()  # by version: how a declaration pins it
    old_level = models.FloatField()
    new_level = models.FloatField()
    state = models.CharField(
        max_length=10,
        choices=[(s, s) for s in ("running", "found", "unclear")],
        default="running",
    )
    answer = models.JSONField(null=True)  # {"last_good", "first_bad", "reason"}
    asked_by = models.CharField(max_length=150)
    asked_at = models.DateTimeField(auto_now_add=True)


class BisectionStart(models.Model):
    """One fresh start of one version."""

    bisection = models.ForeignKey(Bisection, on_delete=models.PROTECT, related_name="starts")
    version = models.CharField(max_length=80)
    number = models.PositiveIntegerField()  # of this version, from 0
    study = models.ForeignKey(Study, null=True, on_delete=models.PROTECT, related_name="+")
    note = models.TextField(blank=True)  # why it could not be started

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["bisection", "version", "number"], name="one_start_of_a_bisection"
            )
        ]


class FreshStart(models.Model):
    """A run that was started because of a suspicion: a repeat, or a side of a pair."""

    suspect = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="fresh_starts")
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="+")
    side = models.CharField(max_length=8)  # repeat | A | B
    number = models.PositiveIntegerField()  # of the pair, from 0
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["suspect", "side", "number"], name="one_fresh_start")
        ]
