"""The list of runs: filters, live state, headline numbers, export, and how many queries it takes."""

import csv
import io
import json
from uuid import uuid4

import pytest
from django.http import QueryDict
from django.test import Client
from django.urls import reverse
from django.utils.html import escape
from pytest_django import DjangoAssertNumQueries

from assay.accounts.access import Access
from assay.accounts.models import Project, Role, Team
from assay.accounts.services import join, local_user
from assay.analysis.documents import GradeDocument
from assay.archive.paths import Home
from assay.ledger.models import Run, Study
from assay.pages.contexts.run_order import SORTS, kept_runs, ordered_ids
from assay.pages.contexts.search import search
from assay.review.models import Tag
from tests.assay.pages import factory
from tests.assay.pages.conftest import page
from tests.assay.pages.factory import Laboratory, grade
from tests.assay.permissions.callers import browser, user
from tests.assay.review.people import submitted

MOST_QUERIES = 14


def test_an_empty_list_says_what_to_do_next(db: None, assay_home: Home, somebody: Client) -> None:
    text = page(somebody, "/runs")

    assert "assay run study=smollm2_torch" in text
    assert "data-copy" in text


def test_every_state_is_listed_by_its_own_word(lab: Laboratory, somebody: Client) -> None:
    text = page(somebody, "/runs")

    for state in ("sealed", "running", "queued", "failed", "aborted", "lost", "refused"):
        assert f'data-state="{state}"' in text


def test_a_sealed_run_shows_its_numbers_with_interval(lab: Laboratory, somebody: Client) -> None:
    text = page(somebody, f"/runs?q={lab.run.pk}")

    # the run of concurrency 4 keeps the made-up numbers as they are: 142 ms [133, 152]
    assert "142" in text
    assert "[133, 152]" in text
    assert "E2" in text


@pytest.mark.req("10.28")
@pytest.mark.forbids
def test_a_number_that_is_not_known_is_never_zero_or_blank(
    lab: Laboratory, somebody: Client
) -> None:
    text = page(somebody, "/runs?state=lost")

    assert "unknown: not interpreted" in text
    assert "unknown: no client ledger" in text


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("state=sealed", 3),
        ("state=live", 2),
        ("study=smollm2_torch", 6),
        ("engine=torch", 9),
        ("engine=vllm", 0),
        ("artifact=SmolLM2-135M-Instruct+Q4_1", 9),
        ("q=concurrency", 3),
        ("q=smollm2+cpu-2core", 9),
        ("q=nothing-of-that-name", 0),
        ("q=%25", 0),
        ("sort=nonsense", 9),
    ],
)
def test_a_filter_keeps_what_it_names(
    query: str, count: int, lab: Laboratory, somebody: Client
) -> None:
    rows = json.loads(somebody.get(f"/runs?{query}&format=json").content)

    assert len(rows) == count


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("state=failed", 'state:"failed"'),
        ("q=torch&state=failed", 'state:"failed" torch'),
        ("q=state:lost&state=failed", 'state:"failed"'),
        ("artifact=a+b&engine=vllm", 'engine:"vllm" model:"a b"'),
    ],
)
def test_a_drop_down_writes_into_the_search(
    query: str, text: str, lab: Laboratory, somebody: Client
) -> None:
    assert f'name="q" value="{escape(text)}"' in page(somebody, f"/runs?{query}")


def test_a_word_that_is_not_understood_is_named_and_the_rest_filters(
    lab: Laboratory, somebody: Client
) -> None:
    text = page(somebody, "/runs?q=state:sealed+colour:red+ttft.p98%3C1s")

    assert "<code>colour:red</code>: no field colour" in text
    assert "Allowed: model, engine, version" in text
    assert "statistic p98" in text
    assert "1–3" in text


@pytest.mark.forbids
def test_hostile_text_in_a_search_is_shown_as_text(lab: Laboratory, somebody: Client) -> None:
    text = page(somebody, "/runs?q=x:%3Cscript%3Ealert(1)%3C/script%3E")

    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)" in text


def test_numbers_are_chosen_in_the_address(lab: Laboratory, somebody: Client) -> None:
    text = page(somebody, "/runs?columns=ttft.p95&columns=goodput,ttft.server.p50&q=tag:smoke")

    for label in ("TTFT p95", "Goodput", "ttft.server p50"):
        assert f">{label}</a>" in text
    assert ">TPOT p50</a>" not in text


def test_a_number_that_is_none_is_named_and_the_others_are_shown(
    lab: Laboratory, somebody: Client
) -> None:
    text = page(somebody, "/runs?columns=speed,ttft.p95")

    assert "no metric speed" in text
    assert ">TTFT p95</a>" in text


def test_runs_are_ordered_by_a_number_with_unknown_ones_last(
    lab: Laboratory, somebody: Client
) -> None:
    for sort, order in (("ttft.p50", [2, 0, 1]), ("-ttft.p50", [1, 0, 2])):
        rows = json.loads(somebody.get(f"/runs?sort={sort}&format=json").content)

        # 99.4 ms at concurrency 1, 113.6 at 2, 142 at 4
        assert [row["run"] for row in rows[:3]] == [str(lab.sweep[n].pk) for n in order]
        assert all(row["ttft_p50_s"] is None for row in rows[3:])


@pytest.mark.parametrize(("first", "last"), [(0, 2), (2, 5), (3, 6), (4, 9), (8, 20)])
def test_pages_of_runs_by_a_number_are_pieces_of_one_order(
    first: int, last: int, lab: Laboratory
) -> None:
    wanted = search(QueryDict("sort=ttft.p50"), SORTS)
    kept = kept_runs(wanted, Access(user=local_user()))
    whole = ordered_ids(wanted, kept, 0, 100)

    piece = ordered_ids(wanted, kept, first, last)

    assert len(set(whole)) == len(whole) == Run.objects.count()  # 3 with a number, 6 without
    assert piece == whole[first:last]


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("queued", "next in queue cpu: its worker is busy"),
        ("running", "measure 9/28"),
        ("failed", "the engine died at start: Killed"),
        ("aborted", "interrupted by the user"),
        ("lost", "lease ran out"),
        ("refused", "allowed: 3, as in the file"),
        ("sealed", "ended; its bundle is sealed"),
    ],
)
def test_every_state_of_a_run_says_what_it_means(
    state: str, says: str, lab: Laboratory, somebody: Client
) -> None:
    assert says in page(somebody, f"/runs?q=state:{state}")


def test_runs_are_chosen_for_comparison(lab: Laboratory, somebody: Client) -> None:
    text = page(somebody, "/runs")

    assert f'action="{reverse("compare")}"' in text
    assert f'name="run" value="{lab.run.pk}" form="compare"' in text


def test_a_bundle_digest_finds_its_run(lab: Laboratory, somebody: Client) -> None:
    rows = json.loads(somebody.get(f"/runs?q={lab.bundle.digest[:10]}&format=json").content)

    assert [row["run"] for row in rows] == [str(lab.run.pk)]


def test_the_table_polls_only_while_something_runs(lab: Laboratory, somebody: Client) -> None:
    assert 'hx-trigger="every 3s"' in page(somebody, "/runs")
    assert 'hx-trigger="every 3s"' not in page(somebody, "/runs?state=sealed")


def test_the_poll_gets_the_table_alone(lab: Laboratory, somebody: Client) -> None:
    response = somebody.get("/runs?part=table", headers={"HX-Request": "true"})

    text = response.content.decode()
    assert text.lstrip().startswith('<div id="runs-region"')
    assert "<html" not in text


def test_sorting_reverses_on_the_second_click(lab: Laboratory, somebody: Client) -> None:
    up = json.loads(somebody.get("/runs?sort=state&format=json").content)
    down = json.loads(somebody.get("/runs?sort=-state&format=json").content)

    assert [r["state"] for r in up] == sorted(r["state"] for r in up)
    assert [r["state"] for r in down] == [r["state"] for r in up][::-1]


def test_an_export_holds_exact_values_and_reasons(lab: Laboratory, somebody: Client) -> None:
    response = somebody.get("/runs?format=csv")

    text = b"".join(response.streaming_content).decode()  # type: ignore[attr-defined]
    rows = list(csv.DictReader(io.StringIO(text)))
    by_run = {row["run"]: row for row in rows}
    assert by_run[str(lab.run.pk)]["ttft_p50_s"] == "0.142"
    lost = by_run[str(lab.by_state["lost"].pk)]
    assert (lost["ttft_p50_s"], lost["ttft_p50_absent"]) == ("", "not interpreted")


def test_the_number_of_queries_does_not_grow_with_the_runs(
    lab: Laboratory,
    somebody: Client,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    for position in range(20, 60):
        factory.add_run(
            lab.study, position, artifact=lab.artifact, concurrency=2, state="failed", reason="x"
        )

    with django_assert_max_num_queries(MOST_QUERIES):
        text = page(somebody, "/runs")

    assert "1–25" in text
    assert Run.objects.count() > 40


def tagged(client: Client, runs: list[Run], name: str, **more: str) -> int:
    form = {"run": [str(run.pk) for run in runs], "tag": name, **more}
    return int(client.post(reverse("runs-tag"), form).status_code)


def test_the_list_says_how_far_figures_go_and_what_was_said_of_the_run(
    lab: Laboratory, somebody: Client
) -> None:
    review = submitted(lab.run)
    grade(lab, GradeDocument(letter="C", reasons=["the loop was late by 40 ms"]))

    text = page(somebody, f"/runs?q={lab.run.pk}")

    assert 'data-grade="C" title="client-side figures: the loop was late by 40 ms"' in text
    assert f'href="{reverse("review", args=[review.pk])}"' in text
    assert 'data-state="open"' in text


def test_chosen_runs_are_tagged_found_by_it_and_untagged_together(
    lab: Laboratory, somebody: Client
) -> None:
    assert tagged(somebody, lab.sweep, " Winter ", back="/runs?q=state:sealed") == 302

    rows = json.loads(somebody.get("/runs?q=tag:winter&format=json").content)
    assert {row["run"] for row in rows} == {str(run.pk) for run in lab.sweep}
    assert "tag%3Awinter" in page(somebody, f"/runs?q={lab.run.pk}")
    assert {tag.by.get_username() for tag in Tag.objects.all()} == {local_user().get_username()}

    assert tagged(somebody, lab.sweep[:2], "winter", step="remove") == 302
    assert Tag.objects.get().run == lab.sweep[2]


@pytest.mark.parametrize("name", ["", "two words", "-", "x" * 41])
def test_a_tag_that_is_no_word_is_refused_and_none_is_written(
    lab: Laboratory, somebody: Client, name: str
) -> None:
    assert tagged(somebody, lab.sweep, name) == 422

    assert not Tag.objects.exists()


def test_one_run_that_may_not_be_written_keeps_all_untagged(
    lab: Laboratory, somebody: Client
) -> None:
    other = Team.objects.create(slug="other", name="Other")
    theirs = Project.objects.create(slug="theirs", name="Theirs", team=other)
    Study.objects.filter(pk=lab.by_state["failed"].study_id).update(project=theirs)
    author = browser("author")
    join(other, user("author"), Role.viewer)  # sees both, may write in one
    viewer = browser("viewer")

    assert tagged(author, [lab.run, lab.by_state["failed"]], "winter") == 403
    assert tagged(viewer, [lab.run], "winter") == 403
    assert tagged(browser("author"), [Run(id=uuid4())], "winter") == 404
    assert not Tag.objects.exists()


def test_a_form_leads_back_to_no_other_host(lab: Laboratory, somebody: Client) -> None:
    form = {"run": [str(lab.run.pk)], "tag": "winter", "back": "//example.org/runs"}

    assert somebody.post(reverse("runs-tag"), form)["Location"] == "/runs"


def test_tagging_needs_the_token_of_the_page(lab: Laboratory) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(local_user())

    assert tagged(client, [lab.run], "winter") == 403
