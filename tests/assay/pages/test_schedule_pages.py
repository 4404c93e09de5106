"""The pages of scheduled regressions: series, findings, and what people may do to them."""

import pytest
from django.test import Client
from django.urls import reverse

from assay.accounts.models import Role
from assay.accounts.services import join, main_project
from assay.archive.paths import Home
from assay.regressions import checking
from assay.regressions.models import BaselineRecord, Finding, Schedule
from tests.assay.pages.conftest import page
from tests.assay.regressions.starts import Laboratory, laboratory

STEADY = [0.100, 0.101, 0.099, 0.100, 0.102, 0.098, 0.100, 0.101, 0.099, 0.100, 0.101, 0.099]


@pytest.fixture
def moved(db: None, assay_home: Home) -> Laboratory:
    """Twelve steady starts, one that is slower and was confirmed."""
    lab = laboratory(assay_home)
    for value in STEADY:
        lab.fire(value)
    lab.fire(0.120)
    lab.fresh = [0.120] * 3
    for _ in range(5):
        checking.look(lab.schedule, lab.home, lab.rerun)
    return lab


def test_an_installation_without_schedules_says_how_to_make_one(db: None, somebody: Client) -> None:
    assert "assay schedule add" in page(somebody, reverse("schedules"))


def test_the_list_shows_open_findings_and_the_newest_answers(
    moved: Laboratory, somebody: Client
) -> None:
    text = page(somebody, reverse("schedules"))

    assert "Open findings" in text
    assert "confirmed" in text
    assert "+20" in text


def test_a_schedules_page_has_the_series_and_the_rows_behind_it(
    moved: Laboratory, somebody: Client
) -> None:
    text = page(somebody, reverse("schedule", args=[moved.schedule.pk]))

    assert text.count("insufficient") >= 12
    assert "shown by 3 fresh starts" in text
    assert f'id="series-{moved.watch.pk}"' in text
    assert "12 fresh starts" in text


def series_of(lab: Laboratory) -> str:
    return reverse("schedule-series", args=[lab.schedule.pk, "tpot.last_token:p50"])


def test_a_series_page_has_segments_drift_and_change_points(
    moved: Laboratory, somebody: Client
) -> None:
    moved.fire(0.100, host="other")
    checking.look(moved.schedule, moved.home, moved.rerun)

    text = page(somebody, series_of(moved))

    assert "the first start of the series" in text
    assert "differs in ran.host" in text
    assert "14–14" in text
    assert "assay schedule approve nightly" in text  # nobody signed a reference: what to do
    assert "None in the 1 starts of the newest segment" in text
    assert reverse("finding", args=[Finding.objects.get().pk]) in text


def test_a_series_without_starts_says_what_to_do_next(
    db: None, assay_home: Home, somebody: Client
) -> None:
    text = page(somebody, series_of(laboratory(assay_home)))

    assert "assay regress nightly --starts 12" in text


def test_a_metric_that_is_not_watched_has_no_page(moved: Laboratory, somebody: Client) -> None:
    url = reverse("schedule-series", args=[moved.schedule.pk, "tpot.last_token:p99"])

    assert somebody.get(url).status_code == 404


def test_the_baseline_is_approved_on_the_page_with_a_reason(
    moved: Laboratory, somebody: Client
) -> None:
    url = reverse("schedule-approve", args=[moved.schedule.pk])

    assert somebody.post(url, {"reason": " "}).status_code == 400
    assert somebody.post(url, {"reason": "as <released>"}).status_code == 302

    text = page(somebody, series_of(moved))
    assert "as &lt;released&gt;" in text
    assert "1 starts since the reference" in text


def test_a_finding_without_another_version_is_not_bisected(
    moved: Laboratory, somebody: Client
) -> None:
    answer = somebody.post(reverse("finding-bisect", args=[Finding.objects.get().pk]))

    assert answer.status_code == 400
    assert b"nothing to bisect" in answer.content


def test_a_findings_page_says_what_moved_and_that_nothing_declared_did(
    moved: Laboratory, somebody: Client
) -> None:
    text = page(somebody, reverse("finding", args=[Finding.objects.get().pk]))

    assert "tpot.last_token p50" in text
    assert "Nothing that was declared" in text
    assert "Nobody has looked at it yet" in text


def test_a_finding_is_moved_with_a_reason_or_refused(moved: Laboratory, somebody: Client) -> None:
    found = Finding.objects.get()
    url = reverse("finding-move", args=[found.pk])

    refused = somebody.post(url, {"state": "fixed", "comment": " "})
    moved_on = somebody.post(url, {"state": "expected", "comment": "<b>checks</b> more"})

    assert refused.status_code == 400
    assert b"finding.comment" in refused.content
    assert moved_on.status_code == 302
    text = page(somebody, reverse("finding", args=[found.pk]))
    assert "&lt;b&gt;checks" in text


def test_a_new_level_is_accepted_on_the_page(moved: Laboratory, somebody: Client) -> None:
    last = moved.watch.checks.order_by("-pk").first()
    assert last is not None
    url = reverse("schedule-accept", args=[moved.schedule.pk])

    answer = somebody.post(url, {"check": last.pk, "reason": "a heavier model"})

    assert answer.status_code == 302
    newest = BaselineRecord.objects.order_by("-pk")[0]
    assert (newest.level, newest.reason) == (0.120, "a heavier model")


def test_a_schedule_is_paused_and_goes_on(moved: Laboratory, somebody: Client) -> None:
    url = reverse("schedule-pause", args=[moved.schedule.pk])

    somebody.post(url, {"paused": "yes"})
    assert Schedule.objects.get().paused

    somebody.post(url, {"paused": ""})
    assert not Schedule.objects.get().paused


@pytest.mark.parametrize(
    ("role", "status"), [(Role.viewer, 403), (Role.author, 403), (Role.maintainer, 302)]
)
def test_only_a_maintainer_pauses(
    moved: Laboratory, django_user_model: object, role: Role, status: int
) -> None:
    ada = django_user_model.objects.create_user("ada")  # type: ignore[attr-defined]
    join(main_project().team, ada, role)
    client = Client()
    client.force_login(ada)

    answer = client.post(reverse("schedule-pause", args=[moved.schedule.pk]), {"paused": "yes"})

    assert answer.status_code == status
