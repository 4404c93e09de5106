"""Workers say what they serve and what their machine offers, and give a sign of life.

A row goes with its worker; one that was killed stops giving signs and counts no longer.
"""

import logging
import threading
from datetime import timedelta

from django.conf import settings
from django.db import DatabaseError, close_old_connections, connections, transaction
from django.db.models import Value
from django.db.models.functions import Now

from assay.execution.machine import Worker
from assay.execution.models import Device, DeviceLease, Registration
from assay.execution.offers import Offer

log = logging.getLogger(__name__)

SILENT_LEASES = 2  # a worker that gave no sign for so many leases is not waited for
FORGOTTEN = timedelta(days=1)  # then its row, and devices that nobody offers or ever leased, go


@transaction.atomic
def register(worker: Worker, offer: Offer) -> None:
    """Write or renew the worker's row and those of its devices."""
    keep_devices(offer)
    Registration.objects.update_or_create(
        worker=str(worker),
        defaults={
            "host": offer.host,
            "machine": offer.machine,
            "offer": offer.document(),
            "seen_at": Now(),
        },
        create_defaults={
            "host": offer.host,
            "machine": offer.machine,
            "offer": offer.document(),
            "registered_at": Now(),
            "seen_at": Now(),
        },
    )
    long_ago = Now() - Value(FORGOTTEN)
    Registration.objects.filter(seen_at__lt=long_ago).delete()
    leased = DeviceLease.objects.values("device_id")
    Device.objects.filter(seen_at__lt=long_ago).exclude(id__in=leased).delete()


def keep_devices(offer: Offer) -> None:
    """A row for each device of the machine, at its present name."""
    for device in offer.devices:
        seen = {
            "machine": offer.machine,
            "host": offer.host,
            "kind": device.kind,
            "index": device.index,
            "name": device.name,
            "memory_bytes": device.memory_bytes,
            "seen_at": Now(),
        }
        Device.objects.update_or_create(id=device.id, defaults=seen)


def give_sign(worker: Worker) -> bool:
    """False if the row is gone, and the worker has to register again."""
    return bool(Registration.objects.filter(worker=str(worker)).update(seen_at=Now()))


def leave(worker: Worker) -> None:
    Registration.objects.filter(worker=str(worker)).delete()


def live() -> list[Registration]:
    """Workers that gave a sign of life lately."""
    silent = Value(timedelta(seconds=SILENT_LEASES * settings.LEASE_S))
    return list(Registration.objects.filter(seen_at__gt=Now() - silent).order_by("host", "worker"))


def live_offers() -> list[Offer]:
    """What they offer."""
    return [Offer.parse(row.offer) for row in live()]


class SignsOfLife:
    """Keeps a worker registered from ``start`` to ``stop``."""

    def __init__(self, worker: Worker, offer: Offer) -> None:
        self._worker = worker
        self._offer = offer
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="signs of life", daemon=True)

    def start(self) -> None:
        register(self._worker, self._offer)
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()
        try:
            leave(self._worker)
        except DatabaseError as error:  # its silence will tell
            log.warning("worker %s left without a word: %s", self._worker, error)

    def _beat(self) -> None:
        try:
            while not self._over.wait(settings.HEARTBEAT_S):
                self._give_sign()
        finally:
            connections.close_all()

    def _give_sign(self) -> None:
        try:
            close_old_connections()
            if not give_sign(self._worker):
                register(self._worker, self._offer)
        except DatabaseError as error:
            log.warning("no sign of life of %s: %s", self._worker, error)
