"""Runs compared on a page: who they are, over what, by how much; and who may see it."""

import csv
import io
import json
from collections.abc import Iterable
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from assay.accounts.models import Role, Team
from assay.accounts.services import join, main_project
from assay.ledger.models import Bundle, Run
from tests.assay.pages import simulated
from tests.assay.pages.conftest import page
from tests.assay.pages.factory import Laboratory
from tests.assay.pages.starts import add_start

MOST_QUERIES = 14
TABLES = ("identity", "populations", "metrics", "distribution", "front", "residuals")


def url(runs: Iterable[Run], **more: str) -> str:
    return "/compare?" + urlencode([*(("run", str(run.pk)) for run in runs), *more.items()])


def test_who_stands_before_over_what_and_both_before_any_number(
    lab: Laboratory, somebody: Client
) -> None:
    text = page(somebody, url(lab.sweep))

    places = [
        text.index(f'id="{name}"') for name in ("verdict", "identity", "populations", "metrics")
    ]
    assert places == sorted(places)


def test_one_moved_variable_is_named_in_the_first_sentence(
    lab: Laboratory, somebody: Client
) -> None:
    text = page(somebody, url(lab.sweep[:2]))

    assert "B differs from A in load.concurrency (2 and 4) alone" in text
    assert "one start each: start-to-start spread unknown" in text


@pytest.mark.req("5.24")
def test_only_what_differs_is_shown_until_all_of_it_is_asked_for(
    lab: Laboratory, somebody: Client
) -> None:
    short = page(somebody, url(lab.sweep[:2]))
    whole = page(somebody, url(lab.sweep[:2], fields="all"))

    assert "load.concurrency" in short
    assert "workload.requests" not in short
    assert "workload.requests" in whole


def test_an_interval_of_one_start_is_labelled_as_one_within_it(
    lab: Laboratory, somebody: Client
) -> None:
    text = page(somebody, url(lab.sweep[:2]))

    # concurrency 4 keeps the made-up numbers: TTFT p50 142 ms [133, 152]; concurrency 2 is at 0.8: 113.6 ms
    assert "[133, 152]" in text
    assert "within this start" in text
    # 142 / 113.6 - 1 = 25 %
    assert "+25.0" in text
    assert "95% Welch" not in text


def test_several_fresh_starts_a_side_give_the_difference_an_interval(
    lab: Laboratory, somebody: Client
) -> None:
    runs = [
        lab.sweep[0],
        add_start(lab, 2, 1, scale=0.82),
        lab.sweep[1],
        add_start(lab, 4, 1, scale=1.03),
    ]

    text = page(somebody, url(runs))

    assert "2 sides compared" in text
    assert "fresh starts: A 2, B 2" in text
    assert "95% Welch over the values of 2 and 2 starts" in text
    assert "lowest and highest of 2 runs" in text


def test_repetitions_of_one_configuration_have_nothing_to_compare_but_spread(
    lab: Laboratory, somebody: Client
) -> None:
    text = page(somebody, url([lab.sweep[1], add_start(lab, 4, 1, scale=1.1)]))

    assert "1 side compared" in text
    assert "One configuration in 2 runs" in text


@pytest.mark.forbids
@pytest.mark.req("2.02")
def test_runs_of_different_boundaries_show_no_number(lab: Laboratory, somebody: Client) -> None:
    other = add_start(lab, 2, 1, boundary={"sut": "engine and gateway"})

    text = page(somebody, url([lab.sweep[0], other]))

    assert "Not compared: boundary.sut" in text
    assert "No number is compared" in text
    assert "TTFT p50" not in text


@pytest.mark.forbids
@pytest.mark.req("14.03")
def test_readings_of_two_definition_versions_show_no_number(
    lab: Laboratory, somebody: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulated, "DEFINITION_VERSION", "2026.11.1")
    older = add_start(lab, 4, 1, scale=1.0)

    text = page(somebody, url([lab.sweep[0], older]))

    assert "Not compared: definition version" in text
    assert "TTFT p50" not in text


@pytest.mark.parametrize("state", ["running", "failed", "lost", "refused"])
def test_a_run_without_whole_numbers_is_not_compared(
    state: str, lab: Laboratory, somebody: Client
) -> None:
    text = page(somebody, url([lab.run, lab.by_state[state]]))

    assert f"smollm2_torch #{lab.by_state[state].position}: {state}" in text


def test_failures_of_one_side_alone_are_said(lab: Laboratory, somebody: Client) -> None:
    text = page(somebody, url(lab.sweep[:2]))

    # of 24 attempts of the load: 1 timeout, 1 failed, 1 rejected, 1 unfinalised; the same on both sides
    assert "latencies are over those that completed" not in text
    assert (
        "Offered, completed, lengths, cached share and caps agree" not in text
    )  # grades are not known


def test_what_a_bundle_says_is_shown_as_text(lab: Laboratory, somebody: Client) -> None:
    other = add_start(lab, 2, 1, engine={"version": simulated.HOSTILE})

    text = page(somebody, url([lab.sweep[0], other]))

    assert "<script>document.title" not in text
    assert "\x1b[31m" not in text
    assert "\u202e" not in text


def test_no_run_and_one_run_say_what_to_do_next(lab: Laboratory, somebody: Client) -> None:
    assert "Choose runs in the list of runs" in page(somebody, "/compare")
    assert "One more run is needed" in page(somebody, url([lab.run]))


def test_a_run_is_added_by_the_beginning_of_its_bundle_s_digest(
    lab: Laboratory, somebody: Client
) -> None:
    digest = Bundle.objects.get(run=lab.sweep[2]).digest

    response = somebody.get(url([lab.run], add=digest[:12]))

    assert response["Location"] == url([lab.run, lab.sweep[2]])


def test_each_run_can_be_left_out_or_put_first(lab: Laboratory, somebody: Client) -> None:
    first, second, third = lab.sweep
    text = page(somebody, url(lab.sweep)).replace("&amp;", "&")

    assert url([second, third]).removeprefix("/compare") in text
    assert url([third, first, second]).removeprefix("/compare") in text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("run=nonsense", "nonsense"),
        ("run={0}&add=zz", "zz: no run"),
        ("run={0}&run={0}", "twice"),
        ("run={0}&run=" + "&run=".join(str(uuid4()) for _ in range(8)), "9 runs"),
        ("run={0}&format=json", "1 runs"),
    ],
)
def test_a_query_that_cannot_be_compared_says_why(
    query: str, words: str, lab: Laboratory, somebody: Client
) -> None:
    text = page(somebody, f"/compare?{query.format(lab.run.pk)}", status=400)

    assert words in text


def test_an_unknown_run_is_not_found(lab: Laboratory, somebody: Client) -> None:
    missing = uuid4()

    text = page(somebody, f"/compare?run={lab.run.pk}&run={missing}", status=404)

    assert f"there is no run {missing} here" in text


def test_a_run_of_another_team_does_not_exist_here_in_any_form(lab: Laboratory) -> None:
    ada = get_user_model().objects.create_user("ada")
    join(Team.objects.create(slug="other", name="Other"), ada, Role.maintainer)
    client = Client()
    client.force_login(ada)
    digest = lab.bundle.digest

    for asked in (url(lab.sweep), url(lab.sweep, format="json"), url(lab.sweep, format="csv")):
        assert client.get(asked).status_code == 404, asked
    assert client.get(f"/compare?add={digest[:12]}").status_code == 400
    assert lab.study.name not in client.get("/compare").content.decode()


def test_a_viewer_of_the_team_may_compare(lab: Laboratory) -> None:
    ada = get_user_model().objects.create_user("ada")
    join(main_project().team, ada, Role.viewer)
    client = Client()
    client.force_login(ada)

    assert client.get(url(lab.sweep)).status_code == 200


def test_the_whole_comparison_is_one_json_document(lab: Laboratory, somebody: Client) -> None:
    found = json.loads(somebody.get(url(lab.sweep[:2], format="json")).content)

    assert (found["standing"], [side["letter"] for side in found["sides"]]) == (
        "attributable",
        ["A", "B"],
    )


@pytest.mark.parametrize("name", TABLES)
def test_every_table_of_the_page_is_a_file(name: str, lab: Laboratory, somebody: Client) -> None:
    response = somebody.get(url(lab.sweep, table=name, format="csv"))

    text = b"".join(response.streaming_content).decode()  # type: ignore[attr-defined]
    rows = list(csv.DictReader(io.StringIO(text)))
    assert rows
    assert f'filename="compare-{name}.csv"' in response["Content-Disposition"]


def test_exported_metrics_hold_exact_values_and_why_there_is_no_interval(
    lab: Laboratory, somebody: Client
) -> None:
    rows = json.loads(somebody.get(url(lab.sweep[:2], table="metrics", format="json")).content)

    ttft = next(
        r for r in rows if (r["rule"], r["statistic"]) == ("ttft.first_content.client", "p50")
    )
    # 0.142 * 0.8 = 0.1136; 0.142 - 0.1136 = 0.0284
    assert ttft["A_value"] == pytest.approx(0.1136)
    assert ttft["B_difference"] == pytest.approx(0.0284)
    assert ttft["B_difference_low"] is None
    assert ttft["B_interval_of_difference"] == "one start each: start-to-start spread unknown"


def test_eight_runs_take_as_many_queries_as_two(
    lab: Laboratory, somebody: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    runs = [*lab.sweep, *(add_start(lab, 8 + n, 0, scale=1 + n / 10) for n in range(5))]

    with django_assert_max_num_queries(MOST_QUERIES):
        text = page(somebody, url(runs))

    assert "8 sides compared" in text
    assert "Add a run" not in text
