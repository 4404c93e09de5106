"""Many workers at once: every run is carried out by exactly one."""

import threading
from collections import Counter
from dataclasses import replace

import pytest
from django.db import connections

from assay.archive.paths import Home
from assay.execution import leases, reaper
from assay.execution.machine import Worker
from assay.execution.models import Execution
from assay.ledger.models import Run
from tests.assay.specs import queued_study

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
        me = replace(worker, pid=worker.pid + number)
        while (claim := leases.claim_next(me, home=home, queues=["cpu"])) is not None:
            claimed.append(str(claim.run_id))

    in_threads(WORKERS, work)

    assert len(claimed) == RUNS
    assert set(Counter(claimed).values()) == {1}
    assert Execution.objects.filter(state="running").count() == RUNS


def test_a_lost_execution_is_taken_over_by_one_sweeper(home: Home, dead_worker: Worker) -> None:
    queued_study()
    leases.claim_next(dead_worker, home=home, queues=["cpu"])
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
    while leases.claim_next(worker, home=home, queues=["cpu"]) is not None:
        pass
    Execution.objects.update(leased_until="2020-01-01T00:00:00Z")
    ended: list[object] = []

    in_threads(WORKERS, lambda _number: ended.extend(reaper.expire()))

    assert len(ended) == RUNS
    assert len(set(ended)) == RUNS
    assert set(Run.objects.values_list("state", flat=True)) == {"lost"}
