"""Shares of a run's load as rows: offered by the run's worker, claimed by a load worker, ended once.

Every write is a conditional update: the load worker's repeats its token, that of the run's worker the token
of the execution. If no row changed, the share has ended.

========  ==========================================================================================
told      ``drive`` (how to ask, which part), ``ping`` (a number), ``go`` (ns of the load worker's
          clock), ``stop``
said      ``clock`` (whose), ``joined``, ``ready``, ``pong`` with ``got_ns`` and ``put_ns``, ``done`` and
          ``total``, ``drain``, ``last`` (report, streams, CPU), ``files`` (what it captured)
========  ==========================================================================================
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from assay.archive.paths import Home
from assay.execution import device_leases
from assay.execution.device_leases import DevicesBusy, HeldDevice
from assay.execution.leases import Claim, lease_end
from assay.execution.machine import Worker
from assay.execution.models import ExecutionState, LoadShare, ShareState
from assay.execution.offers import Offer

OPEN = (ShareState.planned, ShareState.offered, ShareState.claimed)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareClaim:
    """One share as its load worker holds it."""

    id: int
    token: str
    execution_id: UUID
    process: int
    document: Mapping[str, Any]
    folder: Path
    devices: tuple[HeldDevice, ...]


# The run's own worker


def offer(claim: Claim, document: Mapping[str, Any]) -> None:
    """From now on load workers may claim them: ``document`` says where the plan lies."""
    _of_run(claim).filter(state=ShareState.planned).update(
        state=ShareState.offered, document=dict(document)
    )


def of_run(claim: Claim) -> list[LoadShare]:
    return list(LoadShare.objects.filter(execution_id=claim.execution_id).order_by("process"))


def tell(claim: Claim, share: LoadShare, told: Mapping[str, Any]) -> bool:
    """Everything that the load worker is told, the newest word of each kind."""
    held = _of_run(claim).filter(id=share.id, state=ShareState.claimed)
    return bool(held.update(told=dict(told)))


def accept(claim: Claim, share: LoadShare) -> bool:
    """What it captured is with the run."""
    return _end(_of_run(claim).filter(id=share.id, state=ShareState.claimed), ShareState.done, "")


def expired(claim: Claim) -> QuerySet[LoadShare]:
    """Shares of this run whose load worker gave no sign of life for a lease."""
    return _of_run(claim).filter(state=ShareState.claimed, leased_until__lt=Now())


def lose_expired(claim: Claim) -> bool:
    reason = f"gave no sign of life for {settings.LEASE_S:g} s"
    return _end(expired(claim), ShareState.lost, reason)


def withdraw(execution_id: UUID) -> None:
    """The execution is at its end, or gone: nobody waits for its shares any more."""
    left = LoadShare.objects.filter(execution_id=execution_id, state__in=OPEN)
    _end(left, ShareState.withdrawn, "the run ended")


def withdraw_orphans() -> None:
    """The same for executions that ended without a word: their worker is gone."""
    left = LoadShare.objects.filter(state__in=OPEN).exclude(execution__state=ExecutionState.running)
    _end(left, ShareState.withdrawn, "the run ended")


# Load workers


def waiting_to_be_claimed() -> QuerySet[LoadShare]:
    return LoadShare.objects.filter(
        state=ShareState.offered, execution__state=ExecutionState.running
    ).order_by("execution_id", "process")


def claim_next(worker: Worker, *, home: Home, offer: Offer) -> ShareClaim | None:
    """Take the next share that may be sent from this machine; None if there is none or it is busy."""
    try:
        with transaction.atomic():
            places = ["", offer.machine, offer.network]
            shares = waiting_to_be_claimed().filter(machine__in=places)
            shares = shares.exclude(execution__worker=str(worker))
            if connection.features.has_select_for_update_skip_locked:
                shares = shares.select_for_update(skip_locked=True, of=("self",))
            share = shares.first()
            return None if share is None else _claim(share, worker, home=home, offer=offer)
    except DevicesBusy:
        return None


def _claim(share: LoadShare, worker: Worker, *, home: Home, offer: Offer) -> ShareClaim | None:
    token = secrets.token_hex(32)
    folder = home.executions / f"{share.execution_id}-load-{share.process}"
    taken = LoadShare.objects.filter(id=share.id, state=ShareState.offered).update(
        state=ShareState.claimed,
        token=token,
        worker=str(worker),
        folder=str(folder),
        claimed_at=Now(),
        leased_until=lease_end(),
    )
    if not taken:
        return None
    return ShareClaim(
        id=share.id,
        token=token,
        execution_id=share.execution_id,
        process=share.process,
        document=share.document or {},
        folder=folder,
        devices=device_leases.take_processors(share.execution, offer),
    )


def renew(claim: ShareClaim) -> bool:
    """A sign of life; False once the share or its run has ended."""
    return bool(_held(claim).update(leased_until=lease_end()))


def hear(claim: ShareClaim) -> dict[str, Any] | None:
    """What was told; None once the share or its run has ended."""
    told: dict[str, Any] | None = _held(claim).values_list("told", flat=True).first()
    return told


def say(claim: ShareClaim, said: Mapping[str, Any]) -> bool:
    return bool(_held(claim).update(said=dict(said)))


def fail(claim: ShareClaim, reason: str) -> bool:
    return _end(_held(claim), ShareState.failed, reason)


def state_of(claim: ShareClaim) -> str:
    return str(LoadShare.objects.values_list("state", flat=True).get(id=claim.id))


def let_go(claim: ShareClaim) -> None:
    """The machine is free again: nothing of the share runs on it any more."""
    device_leases.give_back(claim.execution_id, claim.devices)


def _held(claim: ShareClaim) -> QuerySet[LoadShare]:
    return LoadShare.objects.filter(
        id=claim.id,
        token=claim.token,
        state=ShareState.claimed,
        execution__state=ExecutionState.running,
    )


def _of_run(claim: Claim) -> QuerySet[LoadShare]:
    return LoadShare.objects.filter(
        execution_id=claim.execution_id,
        execution__token=claim.token,
        execution__state=ExecutionState.running,
    )


def _end(shares: QuerySet[LoadShare], state: ShareState, reason: str) -> bool:
    return bool(shares.update(state=state, reason=reason, ended_at=Now()))
