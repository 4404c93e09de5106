"""What one person is told of, by which way, and how the last messages went."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User

from assay.accounts.models import Project
from assay.notifications.models import Channel, Delivery, Event, Subscription
from experiments.errors import Finding

SHOWN = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class MailRow:
    """One project, with whether mail is wanted of each event, in the order of ``Event``."""

    id: UUID
    name: str
    wanted: Sequence[tuple[str, Any, bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notifications:
    address: str
    mail_offered: bool
    webhook_hosts: Sequence[str]
    signed: bool
    mail: Sequence[MailRow]
    webhooks: Sequence[Subscription]
    events: Sequence[tuple[str, Any]]
    deliveries: Sequence[Delivery]
    findings: Sequence[Finding] = ()


def notifications(
    user: User, projects: Sequence[Project], findings: Sequence[Finding] = ()
) -> Notifications:
    mine = list(
        Subscription.objects.filter(user=user).select_related("project").order_by("created_at")
    )
    mailed = {(s.project_id, s.event) for s in mine if s.channel == Channel.email}
    rows = [
        MailRow(
            id=project.id,
            name=project.name,
            wanted=[(e.value, e.label, (project.id, e.value) in mailed) for e in Event],
        )
        for project in projects
    ]
    last = Delivery.objects.filter(subscription__user=user).select_related("subscription")
    return Notifications(
        address=user.email,
        mail_offered=settings.EMAIL_OFFERED,
        webhook_hosts=settings.WEBHOOK_HOSTS,
        signed=bool(settings.WEBHOOK_SECRET),
        mail=rows,
        webhooks=[s for s in mine if s.channel == Channel.webhook],
        events=Event.choices,
        deliveries=list(last.order_by("-created_at")[:SHOWN]),
        findings=findings,
    )
