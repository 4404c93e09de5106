"""Say that something happened. Rows only: whoever calls this sends nothing and waits for nobody."""

from uuid import UUID

from django.utils import timezone

from assay.accounts.access import Access
from assay.accounts.models import Action
from assay.notifications.models import Delivery, Event, Subscription

MAX_SUBJECT = 300


def notify(event: Event, project_id: UUID, subject: str, link: str) -> int:
    """Queue a message for everybody who asked for this and may still see the project; returns how many.

    ``link`` is a path of this site. A subject is one line: what is in it may come from a study's name.
    """
    line = " ".join(subject.split())[:MAX_SUBJECT]
    wanted = Subscription.objects.filter(event=event, project_id=project_id).select_related("user")
    now = timezone.now()
    deliveries = [
        Delivery(subscription=one, event=event, subject=line, link=link, due_at=now)
        for one in wanted
        if Access(user=one.user).may(Action.view, project_id)
    ]
    Delivery.objects.bulk_create(deliveries)
    return len(deliveries)
