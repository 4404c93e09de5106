"""Messages reach real receivers, signed; what does not arrive is tried again, recorded, and given up."""

import hashlib
import hmac
import json
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.utils import timezone
from pytest_django import Settings

from assay.accounts.models import MAIN_PROJECT, Membership
from assay.notifications import delivering, webhooks, wishes
from assay.notifications.models import Delivery, Event
from assay.notifications.services import notify
from tests.assay.notifications.receiver import Received

ENDED = Event.run_ended


def tell() -> Delivery:
    assert notify(ENDED, MAIN_PROJECT, "smoke #0 is sealed", "/runs/1") == 1
    return Delivery.objects.get()


def after(one: Delivery, wait: timedelta) -> Delivery:
    """The message once that time has passed and a tick has come."""
    Delivery.objects.filter(id=one.id).update(due_at=one.due_at - wait)
    delivering.deliver_due()
    one.refresh_from_db()
    return one


def test_a_webhook_gets_a_document_that_it_can_check(ada: User, receiver: Received) -> None:
    wishes.add_webhook(ada, MAIN_PROJECT, receiver.url, [ENDED])
    one = tell()

    assert delivering.deliver_due() == 1

    [(path, headers, body)] = receiver.requests
    document = json.loads(body)
    assert path == "/hook"
    assert document["event"] == "run_ended"
    assert document["subject"] == "smoke #0 is sealed"
    assert document["link"] == "https://assay.example/runs/1"
    assert document["delivery"] == headers["X-Assay-Delivery"] == str(one.id)
    # as docs/notifications.md says: HMAC-SHA256 over timestamp, dot, body
    message = headers["X-Assay-Timestamp"].encode() + b"." + body
    expected = hmac.new(b"a secret of the test", message, hashlib.sha256).hexdigest()
    assert headers["X-Assay-Signature"] == f"sha256={expected}"
    one.refresh_from_db()
    assert (one.state, one.outcomes[0]["outcome"]) == ("delivered", "the receiver answered 204")


def test_nothing_is_sent_where_it_is_said(ada: User, receiver: Received) -> None:
    wishes.add_webhook(ada, MAIN_PROJECT, receiver.url, [ENDED])

    tell()

    assert receiver.requests == []


def test_a_receiver_that_fails_is_tried_again_later_and_then_given_up(
    ada: User, receiver: Received
) -> None:
    receiver.answers = [500]
    wishes.add_webhook(ada, MAIN_PROJECT, receiver.url, [ENDED])
    one = tell()

    delivering.deliver_due()
    one.refresh_from_db()
    assert (one.state, one.tries) == ("waiting", 1)
    assert delivering.deliver_due() == 0  # not before its time
    for pause in delivering.PAUSES:
        one = after(one, pause)

    # once, and after 1 min, 5 min, 30 min and 2 h: five tries in all
    assert (one.state, one.tries, len(receiver.requests)) == ("failed", 5, 5)
    assert len(one.outcomes) == 5
    assert "the receiver answered 500" in one.outcomes[-1]["outcome"]


def test_a_receiver_that_comes_back_gets_it_once(ada: User, receiver: Received) -> None:
    receiver.answers = [503, 200]
    wishes.add_webhook(ada, MAIN_PROJECT, receiver.url, [ENDED])
    one = tell()
    delivering.deliver_due()
    one.refresh_from_db()

    one = after(one, timedelta(minutes=1))
    delivering.deliver_due()

    assert (one.state, len(receiver.requests)) == ("delivered", 2)


@pytest.mark.forbids
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirection_is_not_followed(ada: User, receiver: Received, status: int) -> None:
    receiver.answers = [status]
    wishes.add_webhook(ada, MAIN_PROJECT, receiver.url, [ENDED])
    tell()

    delivering.deliver_due()

    assert [path for path, _, _ in receiver.requests] == ["/hook"]


@pytest.mark.forbids
def test_nothing_is_sent_unsigned(ada: User, receiver: Received, settings: Settings) -> None:
    wishes.add_webhook(ada, MAIN_PROJECT, receiver.url, [ENDED])
    settings.WEBHOOK_SECRET = ""
    one = tell()

    delivering.deliver_due()

    one.refresh_from_db()
    assert receiver.requests == []
    assert "ASSAY_WEBHOOK_SECRET is not set" in one.outcomes[0]["outcome"]


@pytest.mark.forbids
def test_a_host_that_is_listed_no_more_gets_nothing(
    ada: User, receiver: Received, settings: Settings
) -> None:
    wishes.add_webhook(ada, MAIN_PROJECT, receiver.url, [ENDED])
    settings.WEBHOOK_HOSTS = []
    one = tell()

    delivering.deliver_due()

    one.refresh_from_db()
    assert (one.state, receiver.requests) == ("failed", [])


@pytest.mark.forbids
def test_who_left_the_team_is_told_nothing(ada: User, receiver: Received) -> None:
    wishes.add_webhook(ada, MAIN_PROJECT, receiver.url, [ENDED])
    tell()
    Membership.objects.all().delete()

    delivering.deliver_due()

    assert receiver.requests == []
    assert notify(ENDED, MAIN_PROJECT, "another", "/runs/2") == 0


def test_a_receiver_that_trickles_is_cut_off(
    ada: User, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    monkeypatch.setattr(webhooks, "LIMIT_S", 0.3)
    settings.WEBHOOK_HOSTS, settings.WEBHOOK_SECRET = ["127.0.0.1"], "s"
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        wishes.add_webhook(ada, MAIN_PROJECT, url, [ENDED])
        one = tell()

        began = timezone.now()
        delivering.deliver_due()

    one.refresh_from_db()
    assert timezone.now() - began < timedelta(seconds=webhooks.TIMEOUT_S)
    assert (one.state, one.tries) == ("waiting", 1)


def test_mail_is_handed_to_the_server(ada: User, post_office: Received) -> None:
    wishes.choose_mail(ada, MAIN_PROJECT, [ENDED])
    one = tell()

    delivering.deliver_due()

    [message] = post_office.mails
    assert "Subject: [Assay] smoke #0 is sealed" in message
    assert "To: ada@example.org" in message
    assert "https://assay.example/runs/1" in message
    one.refresh_from_db()
    assert one.state == "delivered"


def test_a_mail_server_that_is_away_is_tried_again(
    ada: User, settings: Settings, post_office: Received
) -> None:
    settings.EMAIL_PORT = 1
    wishes.choose_mail(ada, MAIN_PROJECT, [ENDED])
    one = tell()

    delivering.deliver_due()

    one.refresh_from_db()
    assert (one.state, one.tries) == ("waiting", 1)


@pytest.mark.forbids
def test_a_subject_cannot_add_headers_or_lines(ada: User, settings: Settings) -> None:
    settings.EMAIL_OFFERED = True
    wishes.choose_mail(ada, MAIN_PROJECT, [ENDED])
    notify(ENDED, MAIN_PROJECT, "x\r\nBcc: all@example.org", "/runs/1")

    delivering.deliver_due()

    [message] = mail.outbox
    assert message.subject == "[Assay] x Bcc: all@example.org"
    assert message.recipients() == ["ada@example.org"]


def test_two_ticks_at_once_send_one_message(ada: User, receiver: Received) -> None:
    wishes.add_webhook(ada, MAIN_PROJECT, receiver.url, [ENDED])
    tell()
    first, second = Delivery.objects.get(), Delivery.objects.get()

    assert (delivering._claim(first), delivering._claim(second)) == (True, False)


def test_what_is_over_is_forgotten_after_a_month(ada: User, receiver: Received) -> None:
    wishes.add_webhook(ada, MAIN_PROJECT, receiver.url, [ENDED])
    tell()
    long_ago = timezone.now() - delivering.KEPT - timedelta(days=1)
    Delivery.objects.update(created_at=long_ago)

    delivering.forget_old()
    assert Delivery.objects.count() == 1  # it still waits
    delivering.deliver_due()
    delivering.forget_old()

    assert not Delivery.objects.exists()
