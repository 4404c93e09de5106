"""Whether leases were watched without a break. After one, what looks expired may well be alive.

While the database was away nobody could renew a lease, and a clock that was stepped makes every lease look
old (or good for hours). So a look that comes too long after the last one, or before it, ends nothing: it
gives every running execution one lease more, in which a living worker renews it.
"""

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import DateTimeField, ExpressionWrapper, F, Value
from django.db.models.functions import Now

from assay.execution.leases import lease_end
from assay.execution.models import Execution, ExecutionState, Look

ONLY = 1  # the one row


@transaction.atomic
def is_unbroken() -> bool:
    """Note this look; False if it is the first after a break, and has given every lease its time anew."""
    lease = Value(timedelta(seconds=settings.LEASE_S))
    watched = Look.objects.annotate(
        good_until=ExpressionWrapper(F("looked_at") + lease, output_field=DateTimeField())
    ).filter(id=ONLY, good_until__gte=Now(), looked_at__lte=Now())
    if Look.objects.filter(id__in=watched.values("id")).update(looked_at=Now()):
        return True
    _, is_first = Look.objects.update_or_create(id=ONLY, defaults={"looked_at": Now()})
    if is_first:
        return True
    Execution.objects.filter(state=ExecutionState.running).update(leased_until=lease_end())
    return False
