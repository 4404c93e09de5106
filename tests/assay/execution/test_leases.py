"""The queue of record: claims, leases and fencing tokens."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db.models.functions import Now
from pytest_django import Settings

from assay.archive.paths import Home
from assay.execution import leases
from assay.execution.machine import Worker
from assay.execution.models import Execution, ExecutionState
from assay.execution.offers import Offer
from assay.ledger.models import Run
from tests.assay.specs import kept, offered, queued_study

pytestmark = pytest.mark.django_db


def test_runs_are_claimed_in_the_recorded_order(home: Home, worker: Worker) -> None:
    first, second = queued_study(2, name="a"), queued_study(1, name="b")

    claims = [
        leases.claim_next(worker, home=home, offer=kept(offered(machine))) for machine in "abcd"
    ]

    wanted = [*first.runs.order_by("position"), *second.runs.all()]
    assert [c.run_id for c in claims if c] == [r.id for r in wanted]
    assert claims[3] is None
    assert set(Run.objects.values_list("state", flat=True)) == {"running"}


def test_a_worker_takes_only_runs_of_its_queues(home: Home, worker: Worker) -> None:
    queued_study(kind="cuda")
    machine = offered(accelerators=["this machine"])

    assert leases.claim_next(worker, home=home, offer=kept(machine)) is None
    serves = replace(machine, queues=("cpu", "cuda"))
    assert leases.claim_next(worker, home=home, offer=serves) is not None


def test_runs_that_nobody_here_can_carry_out_keep_no_other_waiting(
    home: Home, worker: Worker, offer: Offer
) -> None:
    queued_study(3, kind="cuda")
    possible = queued_study().runs.get()

    claim = leases.claim_next(worker, home=home, offer=offer)

    assert claim is not None
    assert claim.run_id == possible.id


def test_a_reserved_run_is_left_to_the_one_who_reserved_it(
    home: Home, worker: Worker, dead_worker: Worker, offer: Offer
) -> None:
    run = queued_study(reserved_by=str(worker)).runs.get()

    assert leases.claim_next(dead_worker, home=home, offer=offer) is None
    assert leases.claim_run(run.id, dead_worker, home=home, offer=offer) is None
    assert leases.claim_run(run.id, worker, home=home, offer=offer) is not None


def test_a_cancelled_run_is_not_claimed(home: Home, worker: Worker, offer: Offer) -> None:
    queued_study()
    Run.objects.update(cancel_requested=True)

    assert leases.claim_next(worker, home=home, offer=offer) is None


def test_a_run_taken_between_look_and_update_is_not_claimed_twice(
    home: Home, worker: Worker, offer: Offer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = queued_study().runs.get()
    stale = Run.objects.get(id=run.id)
    Run.objects.filter(id=run.id).update(state="running")
    # what a reader without SKIP LOCKED would have seen a moment ago
    monkeypatch.setattr("django.db.models.query.QuerySet.first", lambda _self: stale)

    assert leases.claim_next(worker, home=home, offer=offer) is None
    assert not Execution.objects.exists()


def test_a_lease_ends_the_lease_time_after_the_databases_now(
    home: Home, worker: Worker, offer: Offer, settings: Settings
) -> None:
    settings.LEASE_S = 30.0
    queued_study()
    leases.claim_next(worker, home=home, offer=offer)

    near = Execution.objects.filter(
        leased_until__gt=Now() + timedelta(seconds=25),
        leased_until__lt=Now() + timedelta(seconds=31),
    )
    assert near.count() == 1


def test_renewing_publishes_progress_and_hears_a_cancel(
    home: Home, worker: Worker, offer: Offer
) -> None:
    queued_study()
    claim = leases.claim_next(worker, home=home, offer=offer)
    assert claim is not None

    before = leases.renew(claim, progress={"phase": "measure", "done": 1})
    Run.objects.filter(id=claim.run_id).update(cancel_requested=True)
    after = leases.renew(claim)

    assert (before.held, before.cancel_requested) == (True, False)
    assert (after.held, after.cancel_requested) == (True, True)
    assert Run.objects.get(id=claim.run_id).progress == {"phase": "measure", "done": 1}


def test_every_write_needs_the_token(home: Home, worker: Worker, offer: Offer) -> None:
    queued_study()
    claim = leases.claim_next(worker, home=home, offer=offer)
    assert claim is not None
    stranger = replace(claim, token="0" * 64)

    pulse = leases.renew(stranger, progress={"phase": "mine"})
    closed = leases.close(stranger, state=ExecutionState.ended, exit_code=0)

    assert not pulse.held
    assert not closed
    assert Run.objects.get(id=claim.run_id).progress == {"phase": "claimed"}
    assert Execution.objects.get().state == ExecutionState.running
