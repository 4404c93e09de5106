"""What a dead worker left becomes lost, sealed and findable; nothing alive is touched."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.db.models.functions import Now
from pytest_django import Settings

from assay.archive import store
from assay.archive.paths import Home
from assay.execution import leases, reaper, services
from assay.execution.leases import Claim
from assay.execution.machine import Worker, this_worker
from assay.execution.models import Execution, ExecutionState, Look
from assay.execution.preparing import context, prepare
from assay.ledger.models import Bundle, Quarantined, Run
from runners.protocol.documents import RunRequest
from runners.protocol.events import RunState
from tests.assay.specs import kept, offered, queued_study

pytestmark = pytest.mark.django_db


def claimed_by(worker: Worker, home: Home) -> Claim:
    queued_study()
    claim = leases.claim_next(worker, home=home, offer=kept(offered()))
    assert claim is not None
    return claim


def half_way(claim: Claim) -> None:
    """The folder as a killed runner leaves it: prepared, launched, not sealed."""
    claim.folder.mkdir(parents=True)
    request = RunRequest(
        spec=dict(claim.spec),
        spec_digest=claim.spec_digest,
        context=context(
            run_id=str(claim.run_id),
            execution_id=str(claim.execution_id),
            repetition=0,
            position=0,
            runs=1,
            study="smoke",
            token=claim.token,
        ),
    )
    assert prepare(request, folder=claim.folder, out=claim.folder / "out").exit_code == 0


def let_the_lease_run_out(claim: Claim) -> None:
    Execution.objects.filter(id=claim.execution_id).update(
        leased_until=Now() - timedelta(seconds=1)
    )


def test_a_lease_that_ran_out_makes_the_run_lost(home: Home, worker: Worker) -> None:
    claim = claimed_by(worker, home)
    let_the_lease_run_out(claim)

    ended = reaper.expire()

    run = Run.objects.get(id=claim.run_id)
    assert ended == [claim.execution_id]
    assert (run.state, run.ended_at is not None) == ("lost", True)
    assert "no sign of life" in run.state_reason


@pytest.mark.parametrize("break_s", [3600, -3600], ids=["forward", "back"])
def test_after_a_break_of_the_watch_every_run_has_its_lease_anew(
    home: Home, worker: Worker, settings: Settings, break_s: int
) -> None:
    """The database was away, or its clock was stepped: the worker could not help it."""
    claim = claimed_by(worker, home)
    reaper.expire()  # somebody watches
    moved = timedelta(seconds=break_s)
    Look.objects.update(looked_at=Now() - moved)
    Execution.objects.update(leased_until=Now() - moved)

    assert reaper.expire() == []
    near = Execution.objects.filter(
        leased_until__gt=Now(), leased_until__lte=Now() + timedelta(seconds=settings.LEASE_S)
    )
    assert near.count() == 1
    assert leases.renew(claim).held

    let_the_lease_run_out(claim)  # and then it is silent, with the watch unbroken
    assert reaper.expire() == [claim.execution_id]


def test_a_lease_that_stands_is_left_alone(home: Home, worker: Worker) -> None:
    claim = claimed_by(worker, home)

    assert reaper.expire() == []
    assert reaper.expire_dead_workers() == []
    assert reaper.sweep(home) == []
    assert Run.objects.get(id=claim.run_id).state == "running"


def test_a_worker_that_is_gone_needs_no_lease_to_run_out(home: Home, dead_worker: Worker) -> None:
    claim = claimed_by(dead_worker, home)

    assert reaper.expire_dead_workers() == [claim.execution_id]
    assert Run.objects.get(id=claim.run_id).state == "lost"


def test_a_worker_of_another_host_is_judged_by_its_lease_alone(home: Home) -> None:
    elsewhere = Worker(host="elsewhere", boot="0", pid=2**30, started="1")
    claimed_by(elsewhere, home)

    assert reaper.expire_dead_workers() == []


def test_runs_reserved_by_a_dead_command_are_aborted(home: Home, dead_worker: Worker) -> None:
    study = queued_study(reserved_by=str(dead_worker))
    mine = queued_study(reserved_by=str(this_worker()))

    reaper.expire_dead_workers()

    assert study.runs.get().state == "aborted"
    assert mine.runs.get().state == "queued"


def test_the_sweep_seals_stores_and_indexes_what_was_captured(
    home: Home, dead_worker: Worker
) -> None:
    claim = claimed_by(dead_worker, home)
    half_way(claim)
    reaper.expire_dead_workers()

    swept = reaper.sweep(home)

    run, bundle = Run.objects.get(id=claim.run_id), Bundle.objects.get()
    execution = Execution.objects.get(id=claim.execution_id)
    assert swept == [claim.execution_id]
    assert (run.state, run.accepted_execution) == ("lost", None)
    assert (bundle.run_id, bundle.state) == (run.id, "lost")
    assert store.get(home, bundle.digest).is_dir()
    assert bundle.interpretations.count() == 1
    assert (execution.state, execution.bundle_digest) == ("lost", bundle.digest)
    assert execution.ended_at is not None
    assert not claim.folder.exists()
    assert reaper.sweep(home) == []


def test_a_lost_execution_without_files_is_closed(home: Home, dead_worker: Worker) -> None:
    claim = claimed_by(dead_worker, home)
    claim.folder.mkdir(parents=True)
    reaper.expire_dead_workers()

    reaper.sweep(home)

    assert Execution.objects.get().ended_at is not None
    assert not claim.folder.exists()


def test_the_dead_workers_token_is_void_once_a_sweeper_took_over(
    home: Home, dead_worker: Worker
) -> None:
    claim = claimed_by(dead_worker, home)
    reaper.expire_dead_workers()
    reaper.sweep(home)

    late = services.finish_unlaunched(claim, state=RunState.failed, reason="late", exit_code=1)

    assert not late
    assert not leases.renew(claim).held
    assert not leases.close(claim, state=ExecutionState.ended, exit_code=0)
    assert Run.objects.get(id=claim.run_id).state == "lost"


def test_what_another_sweeper_is_at_work_on_is_left_to_it(home: Home, dead_worker: Worker) -> None:
    claim = claimed_by(dead_worker, home)
    half_way(claim)
    reaper.expire_dead_workers()
    assert reaper._take_over(Execution.objects.get()) is not None

    assert reaper.sweep(home) == []
    assert claim.folder.exists()


def test_remains_that_cannot_be_sealed_are_kept_aside(
    home: Home, dead_worker: Worker, monkeypatch: pytest.MonkeyPatch, settings: object
) -> None:
    claim = claimed_by(dead_worker, home)
    half_way(claim)
    reaper.expire_dead_workers()
    settings.RUNNER_COMMAND = ["false"]  # type: ignore[attr-defined]

    reaper.sweep(home)

    kept = Quarantined.objects.get()
    assert kept.run_id == claim.run_id
    assert "manifest.json: unreadable" in kept.problems[0]
    assert json.loads((Path(kept.folder) / "quarantine.json").read_bytes())["problems"]
    assert Execution.objects.get().ended_at is not None


def test_a_new_run_works_after_a_lost_one(
    home: Home, worker: Worker, dead_worker: Worker, behave: Callable[..., None]
) -> None:
    claimed_by(dead_worker, home)
    reaper.expire_dead_workers()
    queued_study()
    # the device is given away only when nothing of its last holder can still be on it
    assert leases.claim_next(worker, home=home, offer=kept(offered())) is None
    reaper.sweep(home)
    again = claimed_by(worker, home)

    assert services.finish_unlaunched(again, state=RunState.failed, reason="x", exit_code=1)
