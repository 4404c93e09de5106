"""The first page: what goes, what ended, what weakens it, and what waits for the reader."""

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from assay.accounts.access import Access
from assay.accounts.models import Role, Team
from assay.accounts.services import join, local_user
from assay.archive.paths import Home
from assay.ledger.models import GapEntry, Residual, Run
from assay.pages.contexts.home import activity
from assay.pages.contexts.home_sections import SECTIONS
from assay.pages.contexts.recent_gaps import recent_gaps
from tests.assay.pages import factory
from tests.assay.pages.conftest import page
from tests.assay.pages.factory import Laboratory

MOST_QUERIES = 42
MOST_QUERIES_OF_THE_POLL = 18


def test_an_empty_installation_says_what_to_do_next(
    db: None, assay_home: Home, somebody: Client
) -> None:
    text = page(somebody, "/")

    assert "No run yet" in text
    assert 'data-copy="assay run study=smollm2_torch"' in text


def test_what_goes_shows_phase_count_and_last_line(lab: Laboratory, somebody: Client) -> None:
    text = page(somebody, "/")

    assert "measure 9/28" in text
    assert "load-0009.A1 completed, 32 tokens" in text
    assert "next in queue cpu: its worker is busy" in text
    assert 'hx-trigger="every 3s"' in text


def test_what_ended_shows_its_numbers_and_the_words_of_two_ledgers(
    lab: Laboratory, somebody: Client
) -> None:
    text = page(somebody, "/")

    # the run of concurrency 4: 142 ms [133, 152]; 28 attempts, of which 23 completed
    for words in ("142", "[133, 152]", 'data-state="completed"', 'data-state="success"'):
        assert words in text
    assert "the engine died at start: Killed" in text


def test_the_poll_gets_what_moves_alone(
    lab: Laboratory, somebody: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(MOST_QUERIES_OF_THE_POLL):
        response = somebody.get("/?part=activity", headers={"HX-Request": "true"})

    text = response.content.decode()
    assert text.lstrip().startswith('<div id="activity"')
    assert "What weakens them" not in text


def test_the_poll_slows_down_when_nothing_goes(lab: Laboratory, somebody: Client) -> None:
    Run.objects.filter(state__in=["running", "queued"]).update(state="aborted")

    text = page(somebody, "/")

    assert 'hx-trigger="every 20s"' in text
    assert "Nothing runs and nothing is queued." in text


def test_the_most_frequent_gaps_come_first_with_a_run_to_look_at(lab: Laboratory) -> None:
    interpretation = lab.bundle.interpretations.get()
    GapEntry.objects.create(
        interpretation=interpretation, what="only here", affects="a", needed="b", state="open"
    )
    GapEntry.objects.create(
        interpretation=interpretation, what="closed", affects="a", needed="b", state="accepted"
    )

    found = recent_gaps(Access(user=local_user()))

    # three runs with a reading; the two made-up open gaps are in all of them
    assert found.runs == 3
    assert [gap.runs for gap in found.gaps] == [3, 3, 1]
    assert found.gaps[-1].what == "only here"
    assert found.gaps[-1].newest == lab.run.pk
    assert "closed" not in [gap.what for gap in found.gaps]


def test_the_largest_unexplained_residual_is_named_first(lab: Laboratory, somebody: Client) -> None:
    for quantity, relative in (("step time", -0.4), ("prefill time", 0.1)):
        Residual.objects.create(
            interpretation=lab.bundle.interpretations.get(),
            quantity=quantity,
            predicted=0.05,
            measured=0.05 * (1 + relative),
            unit="s",
            layer="engine_loop",
            relative=relative,
            klass="unexplained",
            validity="calibrated",
        )

    text = page(somebody, "/")

    assert text.index("#1: step time") < text.index("#1: prefill time")
    # 50 ms predicted, 40 % less measured
    assert "measured 30.0\u202fms, predicted 50.0\u202fms" in text


def test_every_section_says_something_when_nothing_waits(lab: Laboratory, somebody: Client) -> None:
    access = Access(user=local_user())

    for section in SECTIONS:
        found = section(access)
        assert found is None or found.nothing


def test_another_team_sees_nothing_of_it(lab: Laboratory) -> None:
    ada = get_user_model().objects.create_user("ada")
    join(Team.objects.create(slug="other", name="Other"), ada, Role.maintainer)
    access = Access(user=ada)

    seen = activity(access)

    assert (seen.going, seen.ended, seen.more_queued) == ([], [], 0)
    assert recent_gaps(access).runs == 0
    assert all(section is None or not section.items for section in (s(access) for s in SECTIONS))


def test_the_number_of_queries_does_not_grow_with_the_runs(
    lab: Laboratory, somebody: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for position in range(20, 50):
        state = ("failed", "queued", "running")[position % 3]
        factory.add_run(lab.study, position, artifact=lab.artifact, concurrency=2, state=state)

    with django_assert_max_num_queries(MOST_QUERIES):
        text = page(somebody, "/")

    # 10 + 1 are queued, of which 5 are shown
    assert "6 more in the queue" in text


@pytest.mark.parametrize("name", ["home", "runs"])
def test_the_mark_leads_home_and_the_menu_to_the_runs(
    name: str, lab: Laboratory, somebody: Client
) -> None:
    text = page(somebody, reverse(name))

    assert '<a class="mark" href="/"' in text
    assert '<a href="/runs"' in text
