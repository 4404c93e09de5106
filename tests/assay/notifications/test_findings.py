"""A finding reaches whoever asked for it, by webhook and by mail, once."""

import json

import pytest
from django.contrib.auth.models import User

from assay.accounts.models import MAIN_PROJECT
from assay.archive.paths import Home
from assay.notifications import delivering, wishes
from assay.notifications.models import Event
from assay.regressions.models import Finding
from tests.assay.notifications.receiver import Received
from tests.assay.regressions.starts import laboratory
from tests.assay.regressions.test_checking import look_to_the_end, steady

pytestmark = pytest.mark.django_db


def test_a_finding_is_told_by_webhook_and_mail_when_it_is_opened_and_not_again(
    ada: User, receiver: Received, post_office: Received, assay_home: Home
) -> None:
    wishes.add_webhook(ada, MAIN_PROJECT, receiver.url, [Event.finding_opened])
    wishes.choose_mail(ada, MAIN_PROJECT, [Event.finding_opened])
    lab = laboratory(assay_home)
    steady(lab)
    for _ in range(2):  # the second start joins the open finding
        lab.fire(0.120)
        lab.fresh = [0.120] * 3
        look_to_the_end(lab)

    while delivering.deliver_due():
        pass

    link = f"https://assay.example/findings/{Finding.objects.get().pk}"
    [(_, _, body)] = receiver.requests
    assert json.loads(body)["subject"] == "nightly: tpot.last_token p50 +20.0%"
    assert json.loads(body)["link"] == link
    [mail] = post_office.mails
    assert link in mail
