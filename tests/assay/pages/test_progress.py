"""Live progress: phase, count, time left and the last line, from one row and the end of one file."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from assay.ledger.models import Run
from assay.pages.contexts.progress import progress_of, time_left
from tests.assay.pages import factory
from tests.assay.pages.conftest import page
from tests.assay.pages.factory import Laboratory

NOW = datetime(2026, 11, 29, 21, 0, 0, tzinfo=UTC)


def entry(seconds_ago: float, phase: str, done: int, total: int = 10) -> dict[str, Any]:
    when = NOW - timedelta(seconds=seconds_ago)
    return {"t": when.isoformat(), "phase": phase, "done": done, "total": total}


def test_time_left_is_the_rate_of_this_phase() -> None:
    entries = [entry(60, "warmup", 2, 2), entry(20, "measure", 0), entry(10, "measure", 5)]

    # five in ten seconds, five to go: ten seconds from the last line, of which ten have passed
    assert time_left(entries, NOW) is None
    assert time_left(entries, NOW - timedelta(seconds=10)) == timedelta(seconds=10)


def test_no_time_is_guessed_before_anything_is_done() -> None:
    assert time_left([entry(5, "measure", 0)], NOW) is None
    assert time_left([], NOW) is None
    assert time_left([{"phase": "measure", "done": 3, "total": 9}], NOW) is None


def test_a_running_page_shows_phase_count_and_last_line(lab: Laboratory, somebody: Client) -> None:
    text = page(somebody, reverse("run", args=[lab.by_state["running"].pk]))

    assert "<strong>measure</strong>" in text
    assert "9/28" in text
    assert "load-0009.A1 completed, 32 tokens" in text
    assert 'hx-trigger="every 2s"' in text


def test_a_queued_run_says_how_many_are_before_it(lab: Laboratory, somebody: Client) -> None:
    factory.add_run(lab.study, 40, artifact=None, concurrency=1, state="queued")
    older = Run.objects.get(position=40)
    factory.add_run(lab.study, 41, artifact=None, concurrency=1, state="queued")
    Run.objects.filter(position=41).update(queue="cuda")

    # a worker takes the runs of the older study first, and only those of its own queue
    assert progress_of(older).ahead == 0
    assert progress_of(lab.by_state["queued"]).ahead == 1
    text = page(somebody, reverse("run", args=[lab.by_state["queued"].pk]))
    assert "1 run before it in queue cpu" in text


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, "next in queue cpu: its worker is busy"),
        ({"queue": "cuda"}, "next in queue cuda: no worker has taken it yet"),
        ({"reserved_by": "host/1/2"}, "kept for the command that declared it"),
    ],
)
def test_a_queued_run_says_why_it_waits(
    changes: dict[str, str], why: str, lab: Laboratory, somebody: Client
) -> None:
    Run.objects.filter(state="queued").update(**changes)

    assert why in page(somebody, reverse("runs"))


def test_a_half_written_last_line_is_passed_over(lab: Laboratory) -> None:
    run = lab.by_state["running"]
    [execution] = run.executions.all()
    with (execution.out / "progress.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('{"t": "2026-11-29T21:0')

    assert progress_of(Run.objects.get(pk=run.pk)).done == 9


def test_a_run_that_goes_says_how_long_it_may_still_take(lab: Laboratory) -> None:
    run = Run.objects.get(pk=lab.by_state["running"].pk)
    last_line = datetime.fromisoformat(run.progress["t"])

    # Nine requests in 18 s, one every 2 s, and 19 of 28 are left.
    assert progress_of(run, last_line).left == timedelta(seconds=38)


def test_the_session_log_of_a_run_that_goes_is_read_from_its_working_folder(
    lab: Laboratory, somebody: Client
) -> None:
    text = page(somebody, reverse("run-log", args=[lab.by_state["running"].pk]))

    assert "prepared" in text


def test_the_poll_is_cheap(
    lab: Laboratory, somebody: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    url = reverse("run-progress", args=[lab.by_state["running"].pk])

    with django_assert_max_num_queries(6):  # two of them are who asks
        response = somebody.get(url)

    assert len(response.content) < 2_000
    assert "HX-Refresh" not in response.headers


@pytest.mark.parametrize("state", ["sealed", "failed"])
def test_the_poll_of_a_run_that_ended_asks_for_the_page(
    state: str, lab: Laboratory, somebody: Client
) -> None:
    run = lab.by_state["running"]
    factory.end(run.pk, state)

    response = somebody.get(reverse("run-progress", args=[run.pk]))

    assert response["HX-Refresh"] == "true"
    assert "every 2s" not in response.content.decode()
