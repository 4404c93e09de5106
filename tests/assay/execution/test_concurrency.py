"""Many workers at once: every run is carried out by exactly one."""

import threading
from collections import Counter
from dataclasses import replace

import pytest
from django.db import IntegrityError, connections

from assay.archive.paths import Home
from assay.execution import leases, reaper
from assay.execution.leases import Claim
from assay.execution.machine import Worker
from assay.execution.models import DeviceLease, Execution, ExecutionState
from assay.execution.offers import Offer
from assay.ledger.models import Run
from tests.assay.specs import kept, offered, queued_study

pytestmark = pytest.mark.django_db(transaction=True)
WORKERS, RUNS = 6, 24


def in_threads(count: int, work: object) -> None:
    barrier = threading.Barrier(count)

    def body(number: int) -> None:
        barrier.wait()
        try:
            work(number)  # type: ignore[operator]
        finally:
            connections.close_all()

    threads = [threading.Thread(target=body, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_no_run_is_claimed_twice_and_none_is_left(home: Home, worker: Worker) -> None:
    queued_study(RUNS)
    claimed: list[str] = []

    def work(number: int) -> None:
        me, machine = replace(worker, pid=worker.pid + number), kept(offered(f"m{number}"))
        while (claim := leases.claim_next(me, home=home, offer=machine)) is not None:
            claimed.append(str(claim.run_id))
            leases.close(claim, state=ExecutionState.ended, exit_code=0)

    in_threads(WORKERS, work)

    assert len(claimed) == RUNS
    assert set(Counter(claimed).values()) == {1}
    assert Execution.objects.filter(state="ended").count() == RUNS
    assert not DeviceLease.objects.filter(released_at=None).exists()


def test_one_device_is_held_by_one_of_many_workers_and_its_fence_only_rises(
    home: Home, worker: Worker
) -> None:
    queued_study(WORKERS)
    machine = kept(offered())
    held: list[Claim] = []

    def work(number: int) -> None:
        me = replace(worker, pid=worker.pid + number)
        claim = leases.claim_next(me, home=home, offer=machine)
        if claim is not None:
            held.append(claim)

    in_threads(WORKERS, work)
    first = held.pop()
    assert held == []
    assert Run.objects.filter(state="queued").count() == WORKERS - 1

    leases.close(first, state=ExecutionState.ended, exit_code=0)
    in_threads(WORKERS, work)

    [second] = held
    assert [d.fence for d in (*first.devices, *second.devices)] == [1, 2]
    # whoever held it first can write nothing any more
    assert not leases.renew(first).held
    assert not leases.close(first, state=ExecutionState.ended, exit_code=0)
    assert DeviceLease.objects.get(released_at=None).execution_id == second.execution_id


def test_the_database_itself_refuses_a_second_holder(home: Home, worker: Worker) -> None:
    queued_study()
    claim = leases.claim_next(worker, home=home, offer=kept(offered()))
    assert claim is not None
    held = DeviceLease.objects.get()

    with pytest.raises(IntegrityError):
        DeviceLease.objects.create(
            device=held.device, execution=held.execution, fence=99, taken_at=held.taken_at
        )


def test_a_lost_execution_is_taken_over_by_one_sweeper(
    home: Home, dead_worker: Worker, offer: Offer
) -> None:
    queued_study()
    leases.claim_next(dead_worker, home=home, offer=offer)
    reaper.expire_dead_workers()
    lost = Execution.objects.get()
    taken: list[str] = []

    def work(_number: int) -> None:
        token = reaper._take_over(lost)
        if token is not None:
            taken.append(token)

    in_threads(WORKERS, work)

    assert len(taken) == 1
    assert Execution.objects.get().token == taken[0]


def test_a_lease_is_ended_once_however_many_reapers_look(home: Home, worker: Worker) -> None:
    queued_study(RUNS)
    for number in range(RUNS):
        assert leases.claim_next(worker, home=home, offer=kept(offered(f"m{number}"))) is not None
    reaper.expire()  # somebody watches
    Execution.objects.update(leased_until="2020-01-01T00:00:00Z")
    ended: list[object] = []

    in_threads(WORKERS, lambda _number: ended.extend(reaper.expire()))

    assert len(ended) == RUNS
    assert len(set(ended)) == RUNS
    assert set(Run.objects.values_list("state", flat=True)) == {"lost"}
