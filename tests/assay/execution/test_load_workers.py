"""Whether enough load workers are free, and in words what a run waits for."""

import itertools
from dataclasses import replace

import pytest

from assay.archive.paths import Home
from assay.execution import leases, registration
from assay.execution.load_workers import LoadWorker, bound_to, registered, short_of
from assay.execution.machine import Worker
from assay.execution.offers import Offer
from assay.execution.waiting import waiting
from assay.ledger.models import Run
from assay.ledger.needs import NeedDocument, need_digest, need_of
from tests.assay.execution.shared_load import (
    a_worker,
    claimed_and_offered,
    load_machine,
    queued_run,
    register_load_workers,
)
from tests.assay.specs import SPEC, kept, offered, queued_study

URL = {"kind": "url", "url": "http://10.1.1.1"}
LOCAL = {"kind": "platform"}


def need(count: int, environment: dict[str, str]) -> NeedDocument:
    engine = {**SPEC["engine"], "environment": environment}
    return need_of({**SPEC, "engine": engine, "load": {"workers": count, "processes": 4}})


NUMBERS = itertools.count(1)
MORE = "assay worker --load"
MORE_THERE = f"there: ASSAY_HOME=A_NEW_FOLDER {MORE}"
LEADS = replace(
    offered("a"), host="lab-1", network="a/1", home="8:1"
)  # of the worker called "lead"


def there(
    *,
    machine: str = "a",
    network: str = "a/1",
    home: str = "",
    is_free: bool = True,
    worker: str = "",
) -> LoadWorker:
    worker = worker or f"w{next(NUMBERS)}"
    return LoadWorker(worker=worker, machine=machine, network=network, home=home, is_free=is_free)


def elsewhere() -> LoadWorker:
    return there(machine="b", network="b/1")


@pytest.mark.parametrize(
    ("count", "environment", "found", "why"),
    [
        (1, URL, [], f"waits for 1 load worker; 0 registered. Start 1 more: {MORE}"),
        (3, URL, [there()], f"waits for 3 load workers; 1 registered. Start 2 more: {MORE}"),
        (2, URL, [there(), elsewhere()], ""),
        # enough are there: nobody has to start any
        (
            2,
            URL,
            [there(), there(is_free=False)],
            "waits for 2 load workers; 2 registered, 1 busy",
        ),
        (
            3,
            URL,
            [there(), there(is_free=False)],
            f"waits for 3 load workers; 2 registered, 1 busy. Start 1 more: {MORE}",
        ),
        (
            2,
            LOCAL,
            [there(), elsewhere(), there(machine="c", network="c/1")],
            "waits for 2 load workers; 1 registered on lab-1 (its engine listens on loopback), "
            f"2 elsewhere. Start 1 more {MORE_THERE}",
        ),
        # where it has to be is said before somebody starts it somewhere else
        (
            1,
            LOCAL,
            [],
            "waits for 1 load worker; 0 registered on lab-1 (its engine listens on loopback). "
            f"Start 1 more {MORE_THERE}",
        ),
        # a container of the same machine has another loopback
        (
            1,
            LOCAL,
            [there(network="a/2")],
            "waits for 1 load worker; 0 registered on lab-1 (its engine listens on loopback), "
            f"1 elsewhere. Start 1 more {MORE_THERE}",
        ),
        # one that does not say whose loopback it has, an older one, is not taken for near
        (
            1,
            LOCAL,
            [there(network="")],
            "waits for 1 load worker; 0 registered on lab-1 (its engine listens on loopback), "
            f"1 elsewhere. Start 1 more {MORE_THERE}",
        ),
        (1, URL, [there(network="")], ""),
        # the worker that would carry out the run sends no share of it
        (
            1,
            URL,
            [there(worker="lead")],
            f"waits for 1 load worker; 0 registered. Start 1 more: {MORE}",
        ),
        # nor does one that cannot work while that one does
        (
            1,
            URL,
            [there(home="8:1")],
            "waits for 1 load worker; 0 registered, 1 in the home of another worker. "
            f"Start 1 more: ASSAY_HOME=A_NEW_FOLDER {MORE}",
        ),
        # of two in one home one sends
        (
            2,
            URL,
            [there(home="8:2", worker="v"), there(home="8:2", is_free=False)],
            "waits for 2 load workers; 1 registered, 1 in the home of another worker. "
            f"Start 1 more: ASSAY_HOME=A_NEW_FOLDER {MORE}",
        ),
        (1, URL, [there(home="8:2", worker="v"), there(home="8:2", is_free=False)], ""),
        (2, URL, [there(home="8:2", worker="v"), there(home="8:3")], ""),
        (1, URL, [there(machine="b", network="b/1", home="8:1")], ""),
    ],
)
def test_what_is_waited_for_is_said(
    monkeypatch: pytest.MonkeyPatch,
    count: int,
    environment: dict[str, str],
    found: list[LoadWorker],
    why: str,
) -> None:
    monkeypatch.setenv("ASSAY_ARCHIVE", "/mnt/team")

    assert short_of(need(count, environment), found, lead="lead", offer=LEADS) == why


def test_without_an_archive_a_plan_reaches_no_other_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ASSAY_ARCHIVE", raising=False)

    said = short_of(need(1, URL), [elsewhere()], lead="lead", offer=LEADS)

    assert said == (
        "waits for 1 load worker; 0 registered on lab-1 (no archive carries the plan: "
        f"ASSAY_ARCHIVE), 1 elsewhere. Start 1 more {MORE_THERE}"
    )
    # a container of its machine may have the folder of the plan
    assert short_of(need(1, URL), [there(network="a/2")], lead="lead", offer=LEADS) == ""


@pytest.mark.parametrize(
    ("environment", "archive", "offer", "place"),
    [
        (LOCAL, "/mnt/team", LEADS, "a/1"),
        (LOCAL, "", LEADS, "a/1"),
        (URL, "", LEADS, "a"),
        (URL, "/mnt/team", LEADS, ""),
        (LOCAL, "", offered("a"), "a"),  # of an older worker, which says no network
    ],
)
def test_shares_are_bound_to_where_the_engine_and_the_plan_can_be_reached(
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    archive: str,
    offer: Offer,
    place: str,
) -> None:
    monkeypatch.setenv("ASSAY_ARCHIVE", archive)

    assert bound_to(need(1, environment), offer) == place


def test_a_run_that_asks_for_none_has_the_need_it_always_had() -> None:
    asked = need_of({**SPEC, "load": {"workers": 0, "processes": 4}})

    assert asked == need_of(SPEC)
    assert need_digest(asked) == need_digest(need_of(SPEC))


@pytest.mark.django_db
def test_a_run_is_taken_once_enough_load_workers_are_free(
    home: Home, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_ARCHIVE", "/mnt/team")
    run = queued_run(workers=2)
    registration.register(worker, offered())
    register_load_workers(1)

    assert leases.claim_next(worker, home=home, offer=kept(offered())) is None
    [place] = waiting(list(Run.objects.filter(id=run.id))).values()
    assert place.why == f"waits for 2 load workers; 1 registered. Start 1 more: {MORE}"

    registration.register(a_worker(2), load_machine(2))
    assert leases.claim_next(worker, home=home, offer=kept(offered())) is not None


@pytest.mark.django_db
def test_load_workers_that_another_run_waits_for_are_spoken_for(
    home: Home, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_ARCHIVE", "/mnt/team")
    register_load_workers(2)
    queued_run(workers=2)
    claimed_and_offered(worker, home)
    queued_run(workers=1)

    elsewhere = kept(offered("another machine"))
    assert leases.claim_next(a_worker(7), home=home, offer=elsewhere) is None


@pytest.mark.django_db
def test_a_load_worker_is_not_free_while_a_run_holds_its_machine(home: Home) -> None:
    register_load_workers(2)
    queued_study()
    run = leases.claim_next(a_worker(7), home=home, offer=kept(offered("machine-1")))
    assert run is not None

    assert [(w.machine, w.is_free) for w in registered()] == [
        ("machine-1", False),
        ("machine-2", True),
    ]
