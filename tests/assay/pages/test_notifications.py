"""The page of one's notifications: wishes by project and event, and how the last messages went."""

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries, Settings

from assay.accounts.models import MAIN_PROJECT, Project, Role, Team
from assay.accounts.services import join, main_project
from assay.archive.paths import Home
from assay.execution import leases, services
from assay.execution.machine import Worker
from assay.execution.offers import Offer
from assay.notifications import delivering, wishes
from assay.notifications.models import Delivery, Event, Subscription
from runners.protocol.events import RunState
from tests.assay.pages.conftest import page
from tests.assay.specs import queued_study

URL = "/account/notifications"
HOOK = "http://127.0.0.1:9/hook"


@pytest.fixture
def ada(db: None) -> User:
    user: User = get_user_model().objects.create_user("ada")
    join(main_project().team, user, Role.viewer)
    return user


@pytest.fixture
def hers(ada: User) -> Client:
    client = Client()
    client.force_login(ada)
    return client


def test_a_viewer_chooses_what_to_be_told_of_and_keeps_an_address(hers: Client, ada: User) -> None:
    name = f"events-{MAIN_PROJECT}"

    hers.post(URL, {"change": "address", "address": "ada@example.org"})
    hers.post(URL, {"change": "mail", name: ["run_ended", "review_asked", "nonsense"]})
    text = page(hers, URL)
    hers.post(URL, {"change": "mail", name: ["review_asked"]})

    assert 'value="ada@example.org"' in text
    assert text.count(" checked") == 2
    assert list(Subscription.objects.values_list("event", flat=True)) == ["review_asked"]


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"change": "address", "address": "no address"}, "name@host"),
        ({"change": "webhook", "url": "https://elsewhere.example/", "events": "run_ended"}, "url"),
        ({"change": "webhook", "url": HOOK, "events": "nonsense"}, "at least one"),
    ],
)
def test_what_may_not_be_wished_is_said_and_not_kept(
    hers: Client, settings: Settings, fields: dict[str, str], words: str
) -> None:
    settings.WEBHOOK_HOSTS = ["127.0.0.1"]

    response = hers.post(URL, {"project": str(MAIN_PROJECT), **fields})

    assert response.status_code == 422
    assert words in response.content.decode()
    assert not Subscription.objects.exists()


@pytest.mark.forbids
def test_a_project_of_others_is_no_choice(hers: Client, settings: Settings) -> None:
    settings.WEBHOOK_HOSTS = ["127.0.0.1"]
    other = Team.objects.create(slug="other", name="Other")
    hidden = Project.objects.create(slug="other", name="Hidden", team=other)

    fields = {"change": "webhook", "url": HOOK, "events": "run_ended", "project": str(hidden.id)}

    assert "Hidden" not in page(hers, URL)
    assert hers.post(URL, fields).status_code == 403


@pytest.mark.forbids
def test_a_wish_of_somebody_else_is_not_removed(hers: Client, settings: Settings) -> None:
    settings.WEBHOOK_HOSTS = ["127.0.0.1"]
    bob = get_user_model().objects.create_user("bob")
    wishes.add_webhook(bob, MAIN_PROJECT, HOOK, [Event.run_ended])
    theirs = Subscription.objects.get()

    hers.post(URL, {"remove": str(theirs.id)})

    assert Subscription.objects.filter(id=theirs.id).exists()
    assert HOOK not in page(hers, URL)


def test_a_webhook_is_shown_with_what_came_of_it_and_can_be_removed(
    hers: Client, ada: User, settings: Settings
) -> None:
    settings.WEBHOOK_HOSTS, settings.WEBHOOK_SECRET = ["127.0.0.1"], "s"
    fields = {"change": "webhook", "url": HOOK, "events": "run_ended", "project": str(MAIN_PROJECT)}
    hers.post(URL, fields)
    one = Subscription.objects.get()
    Delivery.objects.create(
        subscription=one, event="run_ended", subject="<b>x</b>", link="/", due_at=one.created_at
    )
    delivering.deliver_due()

    text = page(hers, URL)
    hers.post(URL, {"remove": str(one.id)})

    assert "ConnectionRefusedError" in text
    assert "&lt;b&gt;x&lt;/b&gt;" in text
    assert not Subscription.objects.exists()


def test_the_page_asks_the_database_a_fixed_number_of_times(
    hers: Client, ada: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    team = main_project().team
    for number in range(20):
        project = Project.objects.create(slug=f"p{number}", name=f"P{number}", team=team)
        wishes.choose_mail(ada, project.id, [Event.run_ended])

    with django_assert_max_num_queries(8):
        page(hers, URL)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("state", [RunState.failed, RunState.aborted, RunState.refused])
def test_who_asked_is_told_when_a_run_ends_and_not_before(
    home: Home, worker: Worker, offer: Offer, state: RunState
) -> None:
    ada = get_user_model().objects.create_user("ada")
    join(main_project().team, ada, Role.viewer)
    wishes.choose_mail(ada, MAIN_PROJECT, [Event.run_ended])
    study = queued_study(name="smoke")
    claim = leases.claim_next(worker, home=home, offer=offer)
    assert claim is not None
    assert not Delivery.objects.exists()

    services.finish_unlaunched(claim, state=state, reason="because", exit_code=1)

    one = Delivery.objects.get()
    assert one.subject == f"smoke #0 is {state}"
    assert one.link == reverse("run", args=[study.runs.get().id])


@pytest.mark.django_db(transaction=True)
def test_an_error_of_the_messages_does_not_touch_the_run(
    home: Home, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_arguments: object) -> int:
        raise RuntimeError("no table")

    monkeypatch.setattr("assay.execution.announcing.notify", broken)
    study = queued_study()

    assert services.request_cancel(study.runs.get().id)

    assert study.runs.get().state == "aborted"
