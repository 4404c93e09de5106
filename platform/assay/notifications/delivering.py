"""Deliver what is due, on the scheduler's tick: a few at a time, each try recorded, given up after some.

A message is claimed by moving its due time, so that two ticks never send it together; if the process dies it
comes due again. A receiver may therefore get one twice: its id is the same.
"""

import smtplib
import time
from datetime import timedelta

from django.conf import settings
from django.core.mail import EmailMessage
from django.utils import timezone

from assay.accounts.access import Access
from assay.accounts.models import Action
from assay.notifications import webhooks
from assay.notifications.addresses import target
from assay.notifications.models import Channel, Delivery, DeliveryState
from assay.notifications.webhooks import NotDelivered
from experiments.errors import Refusal

AT_ONCE = 20
TICK_S = 10.0  # a tick takes no longer than this and one request
CLAIM = timedelta(minutes=2)
PAUSES = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
)
KEPT = timedelta(days=30)


def deliver_due() -> int:
    """Try every message that is due, oldest first, within the tick's time. Returns how many were tried."""
    until = time.monotonic() + TICK_S
    due = Delivery.objects.filter(state=DeliveryState.waiting, due_at__lte=timezone.now())
    tried = 0
    for one in due.select_related("subscription__user").order_by("due_at")[:AT_ONCE]:
        if time.monotonic() > until:
            break
        if _claim(one):
            _try(one)
            tried += 1
    return tried


def forget_old() -> None:
    """Messages that are over are kept for a month."""
    over = Delivery.objects.exclude(state=DeliveryState.waiting)
    over.filter(created_at__lt=timezone.now() - KEPT).delete()


def _claim(one: Delivery) -> bool:
    mine = Delivery.objects.filter(
        id=one.id, state=DeliveryState.waiting, tries=one.tries, due_at=one.due_at
    )
    one.tries += 1
    one.due_at = timezone.now() + CLAIM
    return bool(mine.update(tries=one.tries, due_at=one.due_at))


def _try(one: Delivery) -> None:
    try:
        outcome, state = _send(one), DeliveryState.delivered
    except Refusal as refusal:  # it will not become allowed by waiting
        outcome, state = str(refusal), DeliveryState.failed
    except (NotDelivered, OSError, smtplib.SMTPException) as error:
        outcome = f"{type(error).__name__}: {error}"[:300]
        state = DeliveryState.failed if one.tries > len(PAUSES) else DeliveryState.waiting
    one.outcomes = [*one.outcomes, {"at": timezone.now().isoformat(), "outcome": outcome}]
    if state == DeliveryState.waiting:
        one.due_at = timezone.now() + PAUSES[one.tries - 1]
    one.state = state
    one.save(update_fields=["state", "due_at", "outcomes"])


def _send(one: Delivery) -> str:
    wish = one.subscription
    if not Access(user=wish.user).may(Action.view, wish.project_id):
        raise NotDelivered("the subscriber may not see the project any more")
    link = settings.SITE_URL.rstrip("/") + one.link
    if wish.channel == Channel.email:
        return _mail(one, link)
    document = {
        "event": one.event,
        "project": str(wish.project_id),
        "subject": one.subject,
        "link": link,
        "at": one.created_at.isoformat(),
        "delivery": str(one.id),
    }
    if not settings.WEBHOOK_SECRET:
        raise NotDelivered("ASSAY_WEBHOOK_SECRET is not set: nothing is sent unsigned")
    return webhooks.post(
        target(wish.url), document, secret=settings.WEBHOOK_SECRET, delivery=str(one.id)
    )


def _mail(one: Delivery, link: str) -> str:
    address = one.subscription.user.email
    if not address:
        raise NotDelivered("the subscriber has no e-mail address")
    if not settings.EMAIL_OFFERED:
        raise NotDelivered("ASSAY_EMAIL_URL is not set: no mail is sent")
    message = EmailMessage(
        subject=f"[Assay] {one.subject}",
        body=f"{one.get_event_display()}: {one.subject}\n\n{link}\n",
        to=[address],
    )
    message.send()
    return f"handed to the mail server for {address}"
