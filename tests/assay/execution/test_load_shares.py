"""Shares of a load: each is claimed once, by somebody else, from where it may be sent, and ends once."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from assay.archive.paths import Home
from assay.execution import device_leases, leases, load_shares
from assay.execution.load_lead import _Silence
from assay.execution.machine import Worker
from assay.execution.models import DeviceLease, Execution, ExecutionState, LoadShare
from assay.execution.work import queues_with_work
from tests.assay.execution.shared_load import (
    a_worker,
    claimed_and_offered,
    load_machine,
    queued_run,
    register_load_workers,
    states,
)
from tests.assay.specs import kept, offered, queued_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def team(monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive carries plans between machines."""
    monkeypatch.setenv("ASSAY_ARCHIVE", "/mnt/team")
    register_load_workers(3)


@pytest.fixture
def lead(team: None, worker: Worker, home: Home) -> leases.Claim:
    queued_run()
    return claimed_and_offered(worker, home)


def claim(number: int, home: Home) -> load_shares.ShareClaim | None:
    return load_shares.claim_next(a_worker(number), home=home, offer=kept(load_machine(number)))


def test_the_last_processes_of_the_run_are_shares_and_each_is_claimed_once(
    lead: leases.Claim, home: Home
) -> None:
    claims = [claim(number, home) for number in (1, 2, 3)]

    # three processes, the last two of them load workers'
    assert [c.process if c else None for c in claims] == [2, 3, None]
    assert states() == ["claimed", "claimed"]
    assert len({c.token for c in claims if c}) == 2


def test_nobody_claims_a_share_before_its_plan_is_there(
    team: None, worker: Worker, home: Home
) -> None:
    queued_run()
    leases.claim_next(worker, home=home, offer=kept(offered()))

    assert states() == ["planned", "planned"]
    assert claim(1, home) is None
    assert queues_with_work() == []


def test_offered_shares_are_work_for_the_queue_of_load_workers(lead: leases.Claim) -> None:
    assert queues_with_work() == ["load"]


def test_the_worker_of_the_run_sends_no_share_of_it(
    lead: leases.Claim, worker: Worker, home: Home
) -> None:
    assert load_shares.claim_next(worker, home=home, offer=kept(load_machine(1))) is None


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000", "http://localhost", "http://[::1]:1"])
def test_an_engine_on_loopback_is_asked_from_its_own_machine_alone(
    team: None, worker: Worker, home: Home, url: str
) -> None:
    beside = offered("boot", queues=["load"])  # another worker of the engine's machine
    queued_run(workers=1, url=url)
    run = leases.claim_run(
        queued_run(workers=1, url=url).id, worker, home=home, offer=kept(offered())
    )
    assert run is not None
    load_shares.offer(run, {})

    assert claim(1, home) is None
    share = load_shares.claim_next(a_worker(9), home=home, offer=beside)
    assert share is not None
    # its processors are the execution's already: nothing is leased twice
    assert share.devices == ()


@pytest.mark.forbids
def test_an_engine_on_loopback_is_asked_from_its_own_network_alone(
    team: None, worker: Worker, home: Home
) -> None:
    """Containers of one machine share its boot id, and none of them reaches another's loopback."""
    engines = kept(replace(offered("boot"), network="boot/1"))
    run = queued_run(workers=1, url="http://127.0.0.1:8000")
    lead = leases.claim_run(run.id, worker, home=home, offer=engines)
    assert lead is not None
    load_shares.offer(lead, {})
    beside = offered("boot", queues=["load"])

    for network in ("boot/2", ""):  # another container; a worker that does not say
        other = replace(beside, network=network)
        assert load_shares.claim_next(a_worker(9), home=home, offer=other) is None
    inside = replace(beside, network="boot/1")
    assert load_shares.claim_next(a_worker(9), home=home, offer=inside) is not None


def test_a_share_holds_the_processors_of_its_machine_until_it_ends(
    lead: leases.Claim, home: Home
) -> None:
    share = claim(1, home)
    assert share is not None
    run = queued_study().runs.get()
    on_it = kept(offered("machine-1"))

    with pytest.raises(device_leases.DevicesBusy):
        leases.claim_run(run.id, a_worker(1), home=home, offer=on_it)
    load_shares.fail(share, "the disk is full")
    load_shares.let_go(share)

    assert leases.claim_run(run.id, a_worker(1), home=home, offer=on_it) is not None


def test_a_busy_machine_claims_no_share(lead: leases.Claim, home: Home) -> None:
    queued_study()
    busy = kept(offered("machine-1"))
    assert leases.claim_next(a_worker(1), home=home, offer=busy) is not None

    assert claim(1, home) is None
    assert states() == ["offered", "offered"]


def test_whoever_lost_a_share_writes_nothing_more(lead: leases.Claim, home: Home) -> None:
    share = claim(1, home)
    assert share is not None
    LoadShare.objects.update(leased_until=Now() - timedelta(seconds=1))
    assert load_shares.lose_expired(lead)

    assert not load_shares.renew(share)
    assert not load_shares.say(share, {"ready": True})
    assert load_shares.hear(share) is None
    assert not load_shares.fail(share, "late")
    row = LoadShare.objects.get(id=share.id)
    assert (row.state, row.reason) == ("lost", "gave no sign of life for 30 s")


def test_a_load_worker_is_lost_only_if_its_lease_stays_old(
    lead: leases.Claim, home: Home, settings: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an outage every lease looks old at first; a living load worker renews it."""
    share = claim(1, home)
    assert share is not None
    now = [100.0]
    monkeypatch.setattr("assay.execution.load_lead.time.monotonic", lambda: now[0])
    silence = _Silence(lead)
    LoadShare.objects.update(leased_until=Now() - timedelta(seconds=1))

    silence.look()
    load_shares.renew(share)
    now[0] += 5  # the heartbeat of these tests is 0.2 s
    silence.look()
    assert states() == ["claimed", "offered"]

    LoadShare.objects.update(leased_until=Now() - timedelta(seconds=1))
    silence.look()
    now[0] += 0.3
    silence.look()
    assert states() == ["claimed", "offered"]
    now[0] += 0.2
    silence.look()
    assert states() == ["lost", "offered"]


def test_the_end_of_an_execution_ends_its_shares(lead: leases.Claim, home: Home) -> None:
    share = claim(1, home)
    assert share is not None
    leases.close(lead, state=ExecutionState.ended, exit_code=1)

    assert load_shares.hear(share) is None
    assert claim(2, home) is None
    load_shares.withdraw_orphans()

    assert states() == ["withdrawn", "withdrawn"]
    assert not DeviceLease.objects.filter(released_at=None).exists()


def test_only_the_one_who_holds_the_execution_tells_a_share(lead: leases.Claim, home: Home) -> None:
    share = claim(1, home)
    assert share is not None
    row = LoadShare.objects.get(id=share.id)
    assert load_shares.tell(lead, row, {"go": 5})
    Execution.objects.filter(id=lead.execution_id).update(token="taken over")

    assert not load_shares.tell(lead, row, {"go": 6})
    assert load_shares.hear(share) == {"go": 5}
