"""Whether enough load workers are free, and in words what a run waits for."""

import pytest

from assay.archive.paths import Home
from assay.execution import leases, registration
from assay.execution.load_workers import LoadWorker, short_of
from assay.execution.machine import Worker
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
from tests.assay.specs import SPEC, kept, offered

URL = {"kind": "url", "url": "http://10.1.1.1"}
LOCAL = {"kind": "platform"}


def need(count: int, environment: dict[str, str]) -> NeedDocument:
    engine = {**SPEC["engine"], "environment": environment}
    return need_of({**SPEC, "engine": engine, "load": {"workers": count, "processes": 4}})


def there(*, machine: str = "a", is_free: bool = True, worker: str = "w") -> LoadWorker:
    return LoadWorker(worker=worker, machine=machine, is_free=is_free)


@pytest.mark.parametrize(
    ("count", "environment", "found", "why"),
    [
        (1, URL, [], "waits for 1 load worker; 0 registered"),
        (2, URL, [there()], "waits for 2 load workers; 1 registered"),
        (2, URL, [there(), there(machine="b")], ""),
        (
            2,
            URL,
            [there(), there(is_free=False)],
            "waits for 2 load workers; 2 registered, 1 busy",
        ),
        (
            2,
            LOCAL,
            [there(), there(machine="b"), there(machine="c")],
            "waits for 2 load workers; 1 registered on lab-1 (its engine listens on loopback), "
            "2 elsewhere",
        ),
        # the worker that would carry out the run sends no share of it
        (1, URL, [there(worker="lead")], "waits for 1 load worker; 0 registered"),
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

    said = short_of(need(count, environment), found, lead="lead", machine="a", host="lab-1")

    assert said == why


def test_without_an_archive_a_plan_reaches_no_other_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ASSAY_ARCHIVE", raising=False)

    said = short_of(need(1, URL), [there(machine="b")], lead="", machine="a", host="lab-1")

    assert said == (
        "waits for 1 load worker; 0 registered on lab-1 (no archive carries the plan: "
        "ASSAY_ARCHIVE), 1 elsewhere"
    )


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
    assert place.why == "waits for 2 load workers; 1 registered"

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
