"""A run whose load workers do not come, or cannot send: it ends with its reason, and no engine started."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from pytest_django import Settings

from assay.archive.paths import Home
from assay.execution import load_shares
from assay.execution.leases import Claim, claim_next
from assay.execution.load_carrying import ShareFailed, _check_in_time
from assay.execution.machine import Worker
from assay.execution.models import DeviceLease, Execution, LoadShare
from assay.execution.procedure import Outcome, perform
from assay.ledger.models import Run
from tests.assay.execution.shared_load import (
    a_worker,
    load_machine,
    queued_run,
    register_load_workers,
    states,
)
from tests.assay.specs import kept, offered

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def claim(
    home: Home, worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> Claim:
    monkeypatch.setenv("ASSAY_ARCHIVE", str(tmp_path / "archive"))
    settings.LOAD_JOIN_S = 1.0
    register_load_workers(2)
    queued_run(workers=2)
    found = claim_next(worker, home=home, offer=kept(offered()))
    assert found is not None
    return found


def ended(claim: Claim, outcome: Outcome) -> str:
    """Why the run failed, after a look that nothing of it is left."""
    run = Run.objects.get(id=claim.run_id)
    assert (run.state, outcome.state) == ("failed", "failed")
    assert Execution.objects.get().ended_at is not None
    assert not DeviceLease.objects.filter(released_at=None).exists()
    assert not LoadShare.objects.filter(ended_at=None).exists()
    assert not claim.folder.exists(), "nothing was launched, so there is nothing to keep"
    return run.state_reason


@pytest.mark.forbids
def test_load_workers_that_do_not_come_in_time_end_the_run_before_an_engine_starts(
    claim: Claim, home: Home, tmp_path: Path
) -> None:
    outcome = perform(claim, home)

    assert ended(claim, outcome) == "waited 1 s for 2 load workers; 0 came"
    assert states() == ["withdrawn", "withdrawn"]
    assert not list((tmp_path / "archive").rglob("*.parquet")), "the plan is taken back"


@pytest.mark.forbids
def test_a_load_worker_that_cannot_take_the_plan_ends_the_run_with_its_words(
    claim: Claim, home: Home
) -> None:
    outcome = while_it_waits(claim, home, _refuse_the_first_share(home))

    assert ended(claim, outcome).endswith("of client process 2: its disk is full")
    assert states() == ["failed", "withdrawn"]


@pytest.mark.forbids
def test_a_plan_that_reaches_no_archive_is_said(
    claim: Claim, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_ARCHIVE", "/proc/no-archive")

    outcome = perform(claim, home)

    assert "the plan could not be given to load workers" in ended(claim, outcome)


def test_a_cancel_while_load_workers_are_waited_for_launches_nothing(
    claim: Claim, home: Home, settings: Settings
) -> None:
    settings.LOAD_JOIN_S = 60.0

    outcome = perform(claim, home, should_stop=_after(1.5))

    assert (outcome.state, outcome.reason) == ("aborted", "stopped before launch")
    assert states() == ["withdrawn", "withdrawn"]


@pytest.mark.forbids
def test_a_word_to_begin_that_comes_after_its_instant_fails_the_share() -> None:
    with pytest.raises(ShareFailed, match="s after the instant that it named"):
        _check_in_time(0)


def while_it_waits(claim: Claim, home: Home, act: Callable[[], None]) -> Outcome:
    thread = threading.Thread(target=act)
    thread.start()
    try:
        return perform(claim, home)
    finally:
        thread.join()


def _refuse_the_first_share(home: Home) -> Callable[[], None]:
    def act() -> None:
        try:
            share: Any = None
            while share is None:
                offer = kept(load_machine(1))
                share = load_shares.claim_next(a_worker(1), home=home, offer=offer)
            load_shares.fail(share, "its disk is full")
            load_shares.let_go(share)
        finally:
            connections.close_all()

    return act


def _after(seconds: float) -> Callable[[], bool]:
    over = threading.Event()
    threading.Timer(seconds, over.set).start()
    return over.is_set
