"""Who wants to be told of what, and every message with how it went."""

from uuid import UUID, uuid4

from django.conf import settings
from django.db import models

from assay.accounts.models import Project


class Event(models.TextChoices):
    run_ended = "run_ended", "a run ended"
    finding_opened = "finding_opened", "a finding was opened"
    review_asked = "review_asked", "a review was asked for"
    review_done = "review_done", "a review was done"


class Channel(models.TextChoices):
    email = "email"
    webhook = "webhook"


class DeliveryState(models.TextChoices):
    waiting = "waiting"  # for its time, or for the next try
    delivered = "delivered"
    failed = "failed"  # given up


class Subscription(models.Model):
    """One person's wish for one kind of event of one project. ``url`` is a webhook's, else empty."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="subscriptions"
    )
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="subscriptions")
    event = models.CharField(max_length=20, choices=Event.choices)
    channel = models.CharField(max_length=10, choices=Channel.choices)
    url = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "project", "event", "channel", "url"], name="one_wish_of_a_kind"
            )
        ]


class Delivery(models.Model):
    """One message to one subscriber. ``outcomes`` lists each try: when, and what came of it."""

    id: "models.UUIDField[UUID, UUID]" = models.UUIDField(primary_key=True, default=uuid4)
    subscription = models.ForeignKey(
        Subscription, on_delete=models.CASCADE, related_name="deliveries"
    )
    event = models.CharField(max_length=20, choices=Event.choices)
    subject = models.CharField(max_length=300)
    link = models.CharField(max_length=500)
    state = models.CharField(
        max_length=10, choices=DeliveryState.choices, default=DeliveryState.waiting
    )
    tries = models.PositiveSmallIntegerField(default=0)
    due_at = models.DateTimeField(auto_now_add=False)
    outcomes = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["state", "due_at"], name="delivery_due")]
