"""What the platform says of itself: to people, to balancers, to Prometheus, to a log; and to whom."""

import json
import logging
import re
import sys
from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from assay.accounts.models import Action
from assay.accounts.services import issue_token
from assay.archive.paths import Home
from assay.execution import leases, load_shares, registration
from assay.execution.models import LoadShare, Registration, ShareState
from assay.ledger.models import Run
from assay.operations import logs, readiness, state
from assay.operations.at_work import Work
from experiments.errors import Refusal
from tests.assay.execution.shared_load import (
    PLAN,
    a_worker,
    load_machine,
    queued_run,
    register_load_workers,
)
from tests.assay.pages.conftest import lab as lab
from tests.assay.pages.conftest import page
from tests.assay.pages.conftest import somebody as somebody
from tests.assay.pages.conftest import stranger as stranger
from tests.assay.pages.factory import Laboratory
from tests.assay.permissions.callers import browser, with_token
from tests.assay.specs import kept, offered

pytestmark = pytest.mark.django_db


def register(worker: str, *, seen_ago: timedelta) -> None:
    now = timezone.now()
    Registration.objects.create(
        worker=worker, host=worker, machine="m", offer={"queues": ["cpu"], "engines": []},
        registered_at=now - seen_ago, seen_at=now - seen_ago,
    )  # fmt: skip


def scraped(client: Client) -> dict[tuple[str, str], float]:
    response = client.get("/metrics")
    assert response.status_code == 200
    found = {}
    for family in text_string_to_metric_families(response.content.decode()):
        for sample in family.samples:
            found[sample.name, ",".join(sample.labels.values())] = sample.value
    return found


def test_prometheus_is_told_of_runs_queues_workers_and_room(
    lab: Laboratory, somebody: Client
) -> None:
    register("alive", seen_ago=timedelta(0))
    register("silent", seen_ago=timedelta(hours=1))
    Run.objects.filter(state="queued").update(created_at=timezone.now() - timedelta(seconds=90))
    somebody.get("/runs")

    found = scraped(somebody)

    assert found["assay_runs", "sealed"] == 3
    assert found["assay_runs", "failed"] == 1
    assert found["assay_queue_depth", "cpu"] == 1
    assert 90 <= found["assay_queue_age_seconds", "cpu"] < 150
    assert found["assay_queue_workers", "cpu"] == 1
    assert found["assay_workers", "alive"] == found["assay_workers", "silent"] == 1
    assert found["assay_execution_leases", ""] == 1  # the running one's
    assert found["assay_disk_free_bytes", ""] > 0
    assert found["assay_http_seconds_count", "GET,runs,2xx"] >= 1


@pytest.mark.forbids
def test_beyond_loopback_metrics_are_for_the_token_and_for_superusers(
    db: None, settings: Settings, stranger: Client
) -> None:
    settings.EMBEDDED, settings.METRICS_TOKEN = False, "a-long-random-word"
    through_proxy = Client(REMOTE_ADDR="127.0.0.1")
    root = Client()
    root.force_login(User.objects.create_superuser("root"))

    def answer(client: Client, **headers: str) -> int:
        return client.get("/metrics", headers=headers).status_code

    assert answer(stranger) == answer(through_proxy) == 401
    assert answer(stranger, Authorization="Bearer wrong") == 401
    assert answer(stranger, Authorization="Bearer ") == 401
    assert answer(browser("maintainer")) == 401
    assert answer(with_token("maintainer")) == 401
    assert answer(stranger, Authorization="Bearer a-long-random-word") == 200
    assert answer(root) == 200


@pytest.mark.forbids
def test_without_a_metrics_token_an_empty_one_opens_nothing(
    settings: Settings, stranger: Client
) -> None:
    settings.EMBEDDED, settings.METRICS_TOKEN = False, ""

    assert stranger.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 401


def test_ready_says_yes_to_everybody_and_why_not_to_few(
    settings: Settings, stranger: Client, somebody: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stranger.get("/readyz").json() == {"ready": True}
    settings.REDIS_URL = "redis://127.0.0.1:9/0"
    monkeypatch.setattr(readiness, "LEAST_FREE_BYTES", 2**62)

    told, asked = stranger.get("/readyz"), somebody.get("/readyz")

    assert (told.status_code, told.json()) == (503, {"ready": False})
    checks = asked.json()["checks"]
    assert checks["database"] == checks["migrations"] == "ok"
    assert "127.0.0.1:9" in checks["broker"]
    assert "`assay retain`" in checks["disk"]


def test_the_page_shows_queues_workers_leases_and_failures(
    lab: Laboratory, somebody: Client
) -> None:
    register("gpu-host-3", seen_ago=timedelta(hours=1))

    text = page(somebody, "/operations")

    for words in (
        "gpu-host-3",
        "silent for",
        "the engine died at start: Killed",
        "Nothing is held",
    ):
        assert (words in text) == (words != "Nothing is held"), words
    assert "<html" not in page(somebody, "/operations?part=state")


@pytest.mark.forbids
def test_a_maintainer_of_another_team_sees_no_run_of_ours(lab: Laboratory) -> None:
    text = page(browser("other team"), "/operations")

    assert "a run of another team" in text
    assert "the engine died at start" not in text
    assert str(lab.by_state["running"].pk) not in text


def test_the_number_of_questions_does_not_grow_with_the_rows(
    lab: Laboratory, somebody: Client, django_assert_max_num_queries: object
) -> None:
    for number in range(20):
        register(f"w{number}", seen_ago=timedelta(0))

    with django_assert_max_num_queries(40):  # type: ignore[operator]
        somebody.get("/operations")


def test_sealing_seconds_are_from_seal_to_acceptance(lab: Laboratory) -> None:
    assert state.sealing_seconds() == []


def record(**named: object) -> logging.LogRecord:
    made = logging.LogRecord("assay.execution", logging.ERROR, "f", 1, "run ended", (), None)
    made.__dict__.update(named)
    return made


def test_a_log_line_is_one_json_object() -> None:
    line = logs.json_lines().format(record(run="019a"))

    said = json.loads(line)
    assert (said["event"], said["level"], said["logger"], said["run"]) == (
        "run ended",
        "error",
        "assay.execution",
        "019a",
    )
    assert said["time"].endswith("Z")
    assert "\n" not in line


@pytest.mark.forbids
def test_a_log_line_holds_no_request_and_no_local_variable() -> None:
    secret = "assay_abcdef0123456789"
    try:
        raise ValueError("wrong")
    except ValueError:
        made = record(request={"Authorization": f"Bearer {secret}"})
        made.exc_info = sys.exc_info()

    line = logs.json_lines().format(made)

    assert json.loads(line)["exception"][0]["exc_type"] == "ValueError"
    assert secret not in line


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("name", "seen"), [("ASSAY_LOG_FORMAT", "xml"), ("ASSAY_LOG_LEVEL", "loud")]
)
def test_a_log_setting_that_there_is_not_is_refused(name: str, seen: str) -> None:
    with pytest.raises(Refusal, match=name):
        logs.configuration({name: seen})


def test_a_token_of_the_api_does_not_open_the_metrics(db: None, settings: Settings) -> None:
    settings.EMBEDDED = False
    issued = issue_token(User.objects.create_superuser("root"), name="t", scopes=[Action.view])

    response = Client().get("/metrics", headers={"Authorization": f"Bearer {issued.secret}"})

    assert response.status_code == 401


@pytest.fixture
def two_load_workers(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> Work:
    """A run that a worker carries out while one of two load workers sends a part of its load."""
    monkeypatch.setenv("ASSAY_ARCHIVE", "/mnt/team")
    register_load_workers(2)
    home = Home(settings.HOME)
    run = queued_run(workers=1)
    lead = leases.claim_run(run.id, a_worker(7), home=home, offer=kept(offered()))
    assert lead is not None
    registration.register(a_worker(7), offered())
    load_shares.offer(lead, PLAN)
    share = load_shares.claim_next(a_worker(1), home=home, offer=load_machine(1))
    assert share is not None
    return Work(run=run, process=share.process)


def test_a_worker_says_what_it_does(two_load_workers: Work) -> None:
    found = {w.host: w for w in state.workers()}
    run = two_load_workers.run

    assert found["host-boot"].work == Work(run=run)
    assert found["host-machine-1"].work == two_load_workers
    assert found["host-machine-2"].work is None
    assert {host: (w.sends_load, w.is_free) for host, w in found.items()} == {
        "host-boot": (False, False),
        "host-machine-1": (True, False),
        "host-machine-2": (True, True),
    }


def test_parts_of_a_load_that_wait_are_the_queue_of_load_workers(two_load_workers: Work) -> None:
    LoadShare.objects.update(state=ShareState.offered)
    [waiting] = [q for q in state.queues() if q.name == "load"]
    LoadShare.objects.update(state=ShareState.claimed)
    [sending] = [q for q in state.queues() if q.name == "load"]

    assert (waiting.waiting, waiting.running, waiting.workers) == (1, 0, 2)
    assert waiting.oldest is not None
    assert (sending.waiting, sending.running, sending.oldest) == (0, 1, None)


def test_the_page_shows_load_workers_and_for_which_run_they_send(
    two_load_workers: Work, somebody: Client
) -> None:
    text = page(somebody, "/operations")

    row = re.search(r"host-machine-1</th>.*?</tr>", text, re.DOTALL)
    assert row is not None
    assert f"/runs/{two_load_workers.run.pk}" in row[0]
    assert "sends for" in row[0]
    assert "client process 3" in row[0]
    idle = re.search(r"host-machine-2</th>.*?</tr>", text, re.DOTALL)
    assert idle is not None
    assert "free" in idle[0]
    assert "parts of others" in idle[0]
    assert "A load worker sends a part" in text


@pytest.mark.forbids
def test_for_whom_a_load_worker_sends_is_not_told_to_another_team(two_load_workers: Work) -> None:
    text = page(browser("other team"), "/operations")

    assert "sends for a run of another team" in text
    assert str(two_load_workers.run.pk) not in text
