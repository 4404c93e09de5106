"""Who holds which device. A lease is exclusive and has a fencing token that only ever rises.

It is taken in the transaction that claims a run, and given back when the execution has ended or, where its
worker was lost, once what it left on the machine has been ended: a device is never given away while a process
of its last holder may still be on it.
"""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from django.db import IntegrityError, connection
from django.db.models import F
from django.db.models.functions import Now

from assay.execution.matching import devices_for
from assay.execution.models import Device, DeviceLease, Execution
from assay.execution.offers import Offer, OfferedDevice
from assay.ledger.needs import NeedDocument


class DevicesBusy(Exception):
    """Another execution holds what this one needs. The transaction has to be rolled back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldDevice:
    """A device as its holder knows it; whoever has a higher ``fence`` of it came later."""

    id: str
    kind: str
    index: int
    fence: int


def take(execution: Execution, need: NeedDocument, offer: Offer) -> tuple[HeldDevice, ...]:
    """Lease what the run needs of this machine: its processors, and the accelerators asked for.

    Call it inside a transaction. Raises DevicesBusy if somebody else holds any of it, or takes it now.
    """
    processors = {device.id for device in offer.host_devices}
    others = [d for d in devices_for(need, offer) if d.id not in processors]
    free = _free([*offer.host_devices, *others])
    chosen = [d for d in free if d.id in processors]
    chosen += [d for d in free if d.id not in processors][: need["count"]]
    if len(chosen) < len(processors) + min(need["count"], len(others)):
        raise DevicesBusy(_holders([*processors, *(d.id for d in others)]))
    return tuple(_take_one(device, execution) for device in chosen)


def take_processors(execution: Execution, offer: Offer) -> tuple[HeldDevice, ...]:
    """Lease the processors of a machine for a load worker of this execution.

    Those that the execution holds anyway, because its engine is on the same machine, are not leased again.
    Call it inside a transaction. Raises DevicesBusy if another execution holds them.
    """
    own = DeviceLease.objects.filter(execution=execution, released_at=None)
    held = set(own.values_list("device_id", flat=True))
    wanted = [device for device in offer.host_devices if device.id not in held]
    free = _free(wanted)
    if len(free) < len(wanted):
        raise DevicesBusy(_holders([device.id for device in wanted]))
    return tuple(_take_one(device, execution) for device in free)


def give_back(execution_id: UUID, devices: Collection[HeldDevice]) -> None:
    """Release these of an execution that goes on: a load worker's, whose share has ended."""
    for device in devices:
        DeviceLease.objects.filter(
            execution_id=execution_id, device_id=device.id, fence=device.fence, released_at=None
        ).update(released_at=Now())


def _free(devices: Collection[OfferedDevice]) -> list[Device]:
    """Those that nobody holds; on PostgreSQL locked, and without those that somebody else locks."""
    held = DeviceLease.objects.filter(released_at=None).values("device_id")
    free = Device.objects.filter(id__in=[d.id for d in devices]).exclude(id__in=held)
    if connection.features.has_select_for_update_skip_locked:
        free = free.select_for_update(skip_locked=True)
    return list(free.order_by("index"))


def _take_one(device: Device, execution: Execution) -> HeldDevice:
    fence = device.fence + 1
    moved = Device.objects.filter(id=device.id, fence=device.fence).update(fence=F("fence") + 1)
    if not moved:
        raise DevicesBusy(device.id)
    try:
        DeviceLease.objects.create(device=device, execution=execution, fence=fence, taken_at=Now())
    except IntegrityError as error:
        raise DevicesBusy(device.id) from error
    return HeldDevice(id=device.id, kind=device.kind, index=device.index, fence=fence)


def release(execution_id: UUID) -> int:
    """Give back whatever this execution still holds."""
    return DeviceLease.objects.filter(execution_id=execution_id, released_at=None).update(
        released_at=Now()
    )


def visible_to(held: Collection[HeldDevice]) -> dict[str, str]:
    """The environment that keeps an engine to its own accelerators; empty for a run on processors."""
    own = [device for device in held if device.kind == "cuda"]
    if not own:
        return {}
    by_id = all(device.id.startswith(("GPU-", "MIG-")) for device in own)
    names = ",".join(device.id if by_id else str(device.index) for device in own)
    # the last two are AMD's, whose runtime knows no such ids
    indices = ",".join(str(device.index) for device in own)
    return {
        "CUDA_VISIBLE_DEVICES": names,
        **({} if by_id else {"HIP_VISIBLE_DEVICES": indices, "ROCR_VISIBLE_DEVICES": indices}),
    }


def _holders(ids: Collection[str]) -> str:
    """Which executions hold any of these devices, for a person who waits for them."""
    found = DeviceLease.objects.filter(device_id__in=ids, released_at=None)
    return ", ".join(
        sorted({f"execution {e}" for e in found.values_list("execution_id", flat=True)})
    )
