"""One execution from claim to result, with a runner that keeps the contract and measures nothing."""

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError, connection, transaction

from assay.archive import store
from assay.archive.paths import Home
from assay.execution import leases, reaper, services
from assay.execution.leases import Claim
from assay.execution.machine import Worker
from assay.execution.models import DeviceLease, Execution
from assay.execution.offers import Offer
from assay.execution.procedure import Outcome, perform
from assay.ledger.models import Bundle, Interpretation, LedgerCount, Measure, Quarantined, Run
from runners.protocol import manifest
from runners.protocol.documents import Progress
from tests.assay.specs import queued_study

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def claim(home: Home, worker: Worker, offer: Offer) -> Claim:
    queued_study()
    found = leases.claim_next(worker, home=home, offer=offer)
    assert found is not None
    return found


def the_run(run_id: UUID) -> Run:
    return Run.objects.get(id=run_id)


def left_on_disk(home: Home) -> list[str]:
    return sorted(p.name for p in home.executions.iterdir()) if home.executions.exists() else []


def test_a_sealed_run_is_stored_indexed_and_accepted(claim: Claim, home: Home) -> None:
    lines: list[str] = []

    outcome = perform(claim, home, show=lambda line: lines.append(line["phase"]))

    run, bundle = the_run(claim.run_id), Bundle.objects.get()
    assert (outcome.exit_code, run.state) == (0, "sealed")
    assert run.accepted_execution == claim.execution_id
    assert manifest.verify(store.get(home, bundle.digest)).ok
    assert (bundle.run_id, bundle.level, bundle.imported) == (run.id, "E1", False)
    assert Interpretation.objects.get().bundle_id == bundle.digest
    assert lines == ["prepare", "launch", "measure", "interpret"]
    assert left_on_disk(home) == []


def test_the_index_keeps_three_kinds_of_no_number_apart(claim: Claim, home: Home) -> None:
    perform(claim, home)

    kinds = {m.rule: (m.kind, m.value, m.absent) for m in Measure.objects.all()}
    assert kinds["ttft.first_content.client"] == ("finite", 0.25, "")
    assert kinds["tpot.last_token"] == ("missing", None, "needs two tokens")
    assert kinds["goodput.offered"] == ("inf", None, "")
    assert [(c.ledger, c.state, c.count) for c in LedgerCount.objects.all()] == [
        ("client", "cancelled", 1)
    ]


def test_a_stop_before_the_launch_starts_no_engine_and_seals_nothing(
    claim: Claim, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = threading.Event()

    def interrupted(*_arguments: object, **_options: object) -> str:
        asked.set()  # Ctrl-C comes while the bounds are computed
        return ""

    monkeypatch.setattr("assay.execution.registering.register_predictions", interrupted)

    outcome = perform(claim, home, should_stop=asked.is_set)

    assert (outcome.exit_code, outcome.reason) == (130, "stopped before launch")
    assert the_run(claim.run_id).state == "aborted"
    assert not Bundle.objects.exists()
    assert left_on_disk(home) == []


def test_a_runner_that_was_stopped_while_it_got_ready_leaves_nothing_to_seal(
    claim: Claim, home: Home, behave: Callable[..., None]
) -> None:
    behave(execute="unready")

    outcome = perform(claim, home, should_stop=lambda: any(home.root.rglob("runner.pid")))

    assert (outcome.exit_code, outcome.reason) == (130, "stopped before launch")
    assert not Bundle.objects.exists()
    assert left_on_disk(home) == []


@pytest.mark.parametrize(("code", "state"), [(2, "refused"), (3, "refused")])
def test_a_refusal_ends_the_run_and_leaves_no_file(
    claim: Claim, home: Home, behave: Callable[..., None], code: int, state: str
) -> None:
    behave(prepare=code)

    outcome = perform(claim, home)

    run = the_run(claim.run_id)
    assert (outcome.exit_code, run.state) == (code, state)
    assert "artifact.files: another sha256 (allowed: the declared one)" in run.state_reason
    assert not Bundle.objects.exists()
    assert left_on_disk(home) == []


def test_a_run_that_failed_is_a_result_with_its_bundle(
    claim: Claim, home: Home, behave: Callable[..., None]
) -> None:
    behave(execute="fail")

    outcome = perform(claim, home)

    run = the_run(claim.run_id)
    assert (outcome.exit_code, run.state, run.state_reason) == (1, "failed", "it is failed")
    assert run.accepted_execution == claim.execution_id
    assert Bundle.objects.get().state == "failed"


@pytest.mark.parametrize(
    ("phase", "state", "bundles"),
    [
        ("prepare", "aborted", 0),
        ("launch", "aborted", 1),
        ("measure", "sealed", 1),  # it had ended before anybody could stop it
        ("interpret", "sealed", 1),
    ],
)
def test_a_cancel_works_in_every_phase(
    claim: Claim, home: Home, behave: Callable[..., None], phase: str, state: str, bundles: int
) -> None:
    behave(execute="hang" if phase == "launch" else "seal")

    def cancel(line: Progress) -> None:
        if line["phase"] == phase:
            assert services.request_cancel(claim.run_id)

    perform(claim, home, show=cancel, should_stop=lambda: the_run(claim.run_id).cancel_requested)

    assert the_run(claim.run_id).state == state
    assert Bundle.objects.count() == bundles
    assert not services.request_cancel(claim.run_id)  # it has ended
    assert not DeviceLease.objects.filter(released_at=None).exists()
    assert left_on_disk(home) == []


def test_what_cannot_be_sealed_is_set_aside_and_no_half_bundle_is_left(
    claim: Claim, home: Home, behave: Callable[..., None]
) -> None:
    behave(execute="crash", reap=3)  # the disk is full: there is no room for a manifest

    outcome = perform(claim, home)

    assert (outcome.exit_code, the_run(claim.run_id).state) == (1, "failed")
    assert "sealed nothing" in Quarantined.objects.get().problems[0]
    assert not Bundle.objects.exists()
    assert left_on_disk(home) == []


@pytest.mark.parametrize("lost", ["before the commit", "after the commit"])
def test_a_result_waits_for_a_database_that_is_away(
    claim: Claim, home: Home, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    monkeypatch.setattr("assay.execution.outage.PAUSE_S", 0.01)
    tries: list[Bundle | None] = []
    finish = services.finish_sealed

    def unsteady(*arguments: Any, **named: Any) -> Bundle | None:
        if tries:
            tries.append(finish(*arguments, **named))
            return tries[-1]
        try:
            with transaction.atomic():
                tries.append(finish(*arguments, **named))
                if lost == "before the commit":
                    raise OperationalError("the server closed the connection unexpectedly")
        finally:
            connection.close()
        raise OperationalError("the server closed the connection unexpectedly")

    monkeypatch.setattr(services, "finish_sealed", unsteady)

    outcome = perform(claim, home)

    assert (outcome.state, the_run(claim.run_id).state) == ("sealed", "sealed")
    assert len(tries) == 2
    bundle = Bundle.objects.get()
    assert manifest.verify(store.get(home, bundle.digest)).ok
    assert not Quarantined.objects.exists()


def test_a_runner_that_crashes_is_sealed_as_failed(
    claim: Claim, home: Home, behave: Callable[..., None]
) -> None:
    behave(execute="crash")

    outcome = perform(claim, home)

    run = the_run(claim.run_id)
    assert (outcome.exit_code, run.state) == (1, "failed")
    assert "exit code 9" in run.state_reason
    assert Bundle.objects.get().state == "failed"
    assert left_on_disk(home) == []


def test_a_stop_is_sealed_as_aborted(claim: Claim, home: Home, behave: Callable[..., None]) -> None:
    behave(execute="hang")
    stop = threading.Event()
    threading.Timer(1.0, stop.set).start()

    outcome = perform(claim, home, should_stop=stop.is_set)

    assert (outcome.exit_code, the_run(claim.run_id).state) == (130, "aborted")
    assert Bundle.objects.get().state == "aborted"


def test_a_cancel_in_the_database_reaches_the_runner(
    claim: Claim, home: Home, behave: Callable[..., None]
) -> None:
    behave(execute="hang")
    Run.objects.filter(id=claim.run_id).update(cancel_requested=True)

    outcome = perform(claim, home)

    assert (outcome.exit_code, the_run(claim.run_id).state) == (130, "aborted")


def test_a_damaged_bundle_is_quarantined_and_its_file_named(
    claim: Claim, home: Home, behave: Callable[..., None]
) -> None:
    behave(execute="damage")

    outcome = perform(claim, home)

    run, kept = the_run(claim.run_id), Quarantined.objects.get()
    assert (outcome.exit_code, run.state) == (1, "failed")
    assert "session.jsonl: changed" in run.state_reason
    assert kept.problems[0].startswith("session.jsonl: changed")
    reason = json.loads((Path(kept.folder) / "quarantine.json").read_bytes())
    assert reason["problems"] == kept.problems
    assert not Bundle.objects.exists()
    assert not home.store.exists()


def test_a_late_result_is_quarantined_and_overwrites_nothing(
    claim: Claim, home: Home, behave: Callable[..., None]
) -> None:
    behave(seconds=1.5)
    outcomes: list[Outcome] = []
    slow = threading.Thread(target=lambda: outcomes.append(perform_and_close(claim, home)))

    slow.start()
    wait_for(lambda: (claim.folder / "out" / "runner.pid").exists())
    # the lease is taken away behind the worker's back, as after a long pause of its machine
    Execution.objects.filter(id=claim.execution_id).update(state="lost")
    Run.objects.filter(id=claim.run_id).update(state="lost", state_reason="no sign of life")
    slow.join()

    run = the_run(claim.run_id)
    assert (outcomes[0].exit_code, run.state, run.accepted_execution) == (1, "lost", None)
    kept = Quarantined.objects.get()
    assert kept.execution_id == claim.execution_id
    assert manifest.verify(Path(kept.folder) / "bundle").ok
    assert not Bundle.objects.exists()


def test_an_error_of_ours_ends_the_run_as_failed(
    claim: Claim, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_arguments: object, **_named: object) -> None:
        raise RuntimeError("the predictions cannot be written")

    monkeypatch.setattr("assay.execution.registering.register_predictions", broken)

    outcome = perform(claim, home)

    run = the_run(claim.run_id)
    assert (outcome.exit_code, run.state) == (1, "failed")
    assert "the predictions cannot be written" in run.state_reason
    assert Bundle.objects.get().state == "failed"


def perform_and_close(claim: Claim, home: Home) -> Outcome:
    from django.db import connections

    try:
        return perform(claim, home)
    finally:
        connections.close_all()


def wait_for(condition: Callable[[], bool], *, seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


def test_a_claim_whose_lease_ran_out_is_lost_not_failed(
    claim: Claim, home: Home, behave: Callable[..., None]
) -> None:
    behave(execute="hang")
    Execution.objects.filter(id=claim.execution_id).update(leased_until="2020-01-01T00:00:00Z")

    assert reaper.expire() == [claim.execution_id]
    outcome = perform(claim, home)

    assert outcome.exit_code == 1
    assert the_run(claim.run_id).state == "lost"
