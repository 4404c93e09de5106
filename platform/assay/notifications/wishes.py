"""What one person asks to be told: one wish for each kind of event of a project, by mail or to a webhook."""

from collections.abc import Collection
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from assay.notifications.addresses import check_url
from assay.notifications.models import Channel, Event, Subscription
from experiments.errors import refuse

MOST_WEBHOOKS = 20  # of one person


@transaction.atomic
def choose_mail(user: User, project_id: UUID, events: Collection[str]) -> None:
    """Mail for exactly these events of a project."""
    mine = Subscription.objects.filter(user=user, project_id=project_id, channel=Channel.email)
    mine.exclude(event__in=events).delete()
    for event in events:
        Subscription.objects.get_or_create(
            user=user, project_id=project_id, event=Event(event), channel=Channel.email, url=""
        )


@transaction.atomic
def add_webhook(user: User, project_id: UUID, url: str, events: Collection[str]) -> None:
    """These events of a project to one URL. Raises Refusal for one that may not be reached."""
    check_url(url)
    if not events:
        raise refuse(
            field="events", seen="none", allowed="at least one", remedy="Say what it is told of."
        )
    hooks = Subscription.objects.filter(user=user, channel=Channel.webhook)
    if hooks.count() + len(events) > MOST_WEBHOOKS:
        raise refuse(
            field="url",
            seen=f"{hooks.count()} webhooks are there",
            allowed=f"at most {MOST_WEBHOOKS} of one person",
            remedy="Remove one first.",
        )
    for event in events:
        Subscription.objects.get_or_create(
            user=user,
            project_id=project_id,
            event=Event(event),
            channel=Channel.webhook,
            url=url,
        )


def remove(user: User, subscription_id: int) -> None:
    """One's own only; that of somebody else is not there."""
    Subscription.objects.filter(user=user, id=subscription_id).delete()
