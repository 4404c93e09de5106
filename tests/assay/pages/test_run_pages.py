"""Every page of a run: it renders whole, says what it must, and asks few queries."""

import io
import json
import re

import polars as pl
import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from assay.analysis.metrics.catalogue import ALL_RULES
from assay.ledger.models import Interpretation
from assay.pages.contexts.head import TABS
from assay.pages.views.run_tables import TABLES
from tests.assay.analysis.test_boundary import DECLARED
from tests.assay.pages.conftest import page
from tests.assay.pages.factory import Laboratory

MOST_QUERIES = 12
PAGES = [*(name for name, _ in TABS), "run-declaration"]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_a_sealed_run_renders_in_few_queries(
    name: str,
    lab: Laboratory,
    somebody: Client,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_max_num_queries(MOST_QUERIES):
        text = page(somebody, reverse(name, args=[lab.run.pk]))

    assert len(text) < 150_000  # the page itself; style, scripts and chart library apart


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_a_run_without_numbers_says_its_state(
    name: str, lab: Laboratory, somebody: Client
) -> None:
    for state, run in lab.by_state.items():
        text = page(somebody, reverse(name, args=[run.pk]))

        assert f'data-state="{state}"' in text


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_a_sealed_run_that_waits_for_its_reading_says_so(
    name: str, lab: Laboratory, somebody: Client
) -> None:
    run = lab.sweep[0]
    for path in lab.home.derived.rglob("*"):
        if path.is_file():
            path.unlink()

    text = page(somebody, reverse(name, args=[run.pk]))

    assert Interpretation.objects.filter(bundle__run=run).exists()
    assert "sealed" in text


@pytest.mark.req("9.10")
def test_the_first_screen_answers_three_questions(lab: Laboratory, somebody: Client) -> None:
    text = page(somebody, reverse("run", args=[lab.run.pk]))

    for answer in (
        "What was run",
        "24 requests of 64 tokens in, 32 out",
        "closed loop, 4 at a time",
        "What came out",
        "n=24 of 24",
        "ttft.first_content.client",
        "What limits it",
        "the inside of the engine was seen",
        "Parallel layout and communication",
        "process_returned: no memory reading",
        "2.16 times the bound",  # prefill 0.89 s over its bound of 0.412 s
    ):
        assert answer in text, answer


@pytest.mark.req("8.01")
@pytest.mark.forbids
def test_states_of_four_ledgers_are_never_one_column(lab: Laboratory, somebody: Client) -> None:
    text = page(somebody, reverse("run-ledgers", args=[lab.run.pk]))
    text = text[text.index('aria-label="Attempts with their ledgers"') :]

    heads = re.findall(r'ledger-name ledger-(\w+)">(\w+)<', text)
    assert heads == [(name, name) for name in ("client", "server", "task", "resource")]


@pytest.mark.req("8.03")
@pytest.mark.forbids
def test_a_client_timeout_leaves_the_servers_own_word(lab: Laboratory, somebody: Client) -> None:
    text = page(somebody, reverse("run-ledgers", args=[lab.run.pk]) + "?show=disagree")

    rows = re.findall(r"<tr tabindex.*?</tr>", text, re.DOTALL)
    timed_out = next(row for row in rows if "load-0006.A1" in row)
    states = re.findall(r'data-state="(\w+)"', timed_out)
    assert states == ["timeout", "completed", "failure", "released"]
    assert "disagrees" in timed_out


@pytest.mark.req("8.05")
def test_the_reconciliation_shows_what_is_unexplained(lab: Laboratory, somebody: Client) -> None:
    text = page(somebody, reverse("run-ledgers", args=[lab.run.pk]))

    assert "unexplained: 1 sent attempt(s) without a server record (load-0022.A1)" in text


@pytest.mark.parametrize(
    ("show", "count"), [("all", 28), ("disagree", 2), ("ghost", 3), ("unfinalised", 1)]
)
def test_attempts_are_filtered_by_what_is_odd_about_them(
    show: str, count: int, lab: Laboratory, somebody: Client
) -> None:
    text = page(somebody, reverse("run-ledgers", args=[lab.run.pk]) + f"?show={show}")

    assert f"of {count}\n" in text or f"of {count}<" in text


@pytest.mark.req("8.12", "8.15")
def test_a_check_without_evidence_is_unknown_and_not_held(
    lab: Laboratory, somebody: Client
) -> None:
    text = page(somebody, reverse("run-ledgers", args=[lab.run.pk]))

    assert "unknown: not evidenced" in text


@pytest.mark.req("7.11", "7.14")
def test_declared_and_ran_stand_apart_with_evidence_of_three_strengths(
    lab: Laboratory, somebody: Client
) -> None:
    text = page(somebody, reverse("run-identity", args=[lab.run.pk]))

    assert text.index(">Declared<") < text.index(">Ran<") < text.index(">Evidence<")
    assert text.count('id="item-') == 8
    for strength in ("source", "log", "trace", "none"):
        assert f'data-strength="{strength}"' in text


@pytest.mark.req("7.15")
@pytest.mark.forbids
def test_an_item_without_evidence_makes_the_run_incomplete(
    lab: Laboratory, somebody: Client
) -> None:
    text = page(somebody, reverse("run-identity", args=[lab.run.pk]))

    assert "Incomplete: a run with an item missing" in text
    assert "unknown: the engine echoes no parallel layout" in text


@pytest.mark.req("5.07", "5.23")
def test_the_artifact_table_holds_four_precisions(lab: Laboratory, somebody: Client) -> None:
    text = page(somebody, reverse("run-identity", args=[lab.run.pk]))

    part = text[text.index('id="precision"') :]
    for name in ("weights", "activations", "accumulation", "kv"):
        assert f'<th scope="row">{name}</th>' in part
    assert "block=32, dtype=f16, zero_point=true" in part


@pytest.mark.req("11.07", "13.20", "13.25")
def test_residuals_keep_bound_prediction_and_measurement_in_columns(
    lab: Laboratory, somebody: Client
) -> None:
    text = page(somebody, reverse("run-residuals", args=[lab.run.pk]))

    heads = [text.index(f">{head}<") for head in ("Bound", "Predicted", "Measured", "Residual")]
    assert heads == sorted(heads)
    for words in ("micro-benchmark", "assumption", "model_omission", "extrapolated"):
        assert words in text
    assert "4 of 5 measurements lie in their predicted range" in text
    assert "unknown: the sampler missed the measured window" in text


@pytest.mark.req("9.06", "9.01")
def test_gaps_and_the_five_parts_of_the_archive_are_shown(
    lab: Laboratory, somebody: Client
) -> None:
    text = page(somebody, reverse("run-evidence", args=[lab.run.pk]))

    for words in (
        "server record of load-0022.A1",
        "server and resource ledgers of one attempt",
        "observation points",
        "clock convention",
        "engine_loop",
        "monotonic",
    ):
        assert words in text


@pytest.mark.req("2.01", "2.03", "2.06", "6.12")
def test_a_mocked_dependency_marks_every_page_and_the_boundary_is_a_table(
    lab: Laboratory, somebody: Client
) -> None:
    run = lab.by_state["queued"]  # a sealed row cannot be changed
    run.spec["boundary"] |= {
        "external_dependencies": [{"name": "search", "mocked": True, "fixed_delay_s": 0.05}],
        "segments": [DECLARED["segments"][0]],
        "hops": DECLARED["hops"],
    }
    run.save(update_fields=["spec"])

    for name in PAGES:
        assert "mocked: search" in page(somebody, reverse(name, args=[run.pk])), name
    text = page(somebody, reverse("run-evidence", args=[run.pk]))
    for label in (
        "system under test",
        "included parts",
        "external dependencies",
        "how dependencies are accounted",
        "assumption about tools",
        "exclusions",
        "introduced, configured by platform; upgraded by vendor",
        "response buffering",
        "proxy_buffering off",
    ):
        assert label in text


def test_a_chart_library_loads_only_where_there_is_a_chart(
    lab: Laboratory, somebody: Client
) -> None:
    with_chart = {"run-timeline", "run-latency", "run-residuals"}

    for name in PAGES:
        text = page(somebody, reverse(name, args=[lab.run.pk]))
        assert ("plotly" in text) is (name in with_chart), name


EXPORTED = [(page, table) for page, tables in TABLES.items() for table in tables]
# What the made-up run has none of.
EMPTY = {
    ("identity", "cold_start"),
    ("identity", "shapes"),
    ("residuals", "state"),
    ("evidence", "record"),
}


def address(lab: Laboratory, name: str) -> str:
    if name == "attempt":
        return reverse("run-attempt", args=[lab.run.pk, "cases-0004.A1"])
    return reverse("run" if name == "overview" else f"run-{name}", args=[lab.run.pk])


@pytest.mark.parametrize(("name", "table"), EXPORTED)
def test_every_table_of_a_page_is_exported_in_three_forms(
    name: str, table: str, lab: Laboratory, somebody: Client
) -> None:
    url = f"{address(lab, name)}?table={table}&at=9.5&format="

    rows = json.loads(somebody.get(f"{url}json").content)
    lines = b"".join(somebody.get(f"{url}csv")).decode().splitlines()
    stored = pl.read_parquet(io.BytesIO(b"".join(somebody.get(f"{url}parquet"))))

    assert bool(rows) is ((name, table) not in EMPTY)
    assert stored.height == len(rows)
    assert lines[0].split(",") == stored.columns == list(rows[0] if rows else stored.columns)


@pytest.mark.parametrize("name", TABLES)
def test_a_page_links_every_one_of_its_tables(name: str, lab: Laboratory, somebody: Client) -> None:
    text = page(somebody, address(lab, name) + "?at=9.5&q=0001")

    linked = set(re.findall(r"table=(\w+)&amp;format=parquet", text))
    assert linked >= {t for t in TABLES[name] if (name, t) not in EMPTY | {("ledgers", "attempts")}}
    # the filters of the address stand in the links
    assert all("at=9.5" in link for link in re.findall(r'href="(\?[^"]+format=csv[^"]*)"', text))


def test_a_table_that_a_page_does_not_have_is_404(lab: Laboratory, somebody: Client) -> None:
    assert somebody.get(address(lab, "latency") + "?table=secrets&format=csv").status_code == 404


def test_every_attempt_is_exported_with_its_reasons(lab: Laboratory, somebody: Client) -> None:
    rows = json.loads(somebody.get(reverse("run-attempts", args=[lab.run.pk, "json"])).content)

    lost = next(row for row in rows if row["attempt_id"] == "load-0022.A1")
    assert len(rows) == 28
    assert (lost["server"], lost["ttft.server"]) == ("undetermined", None)
    assert lost["ttft.server.absent"] == "no server record of this attempt"


def test_every_rule_of_the_numbers_has_a_definition_to_link_to(
    lab: Laboratory, somebody: Client
) -> None:
    text = page(somebody, reverse("rules"))

    linked = re.findall(
        r'rules#([\w.]+)"', page(somebody, reverse("run-latency", args=[lab.run.pk]))
    )
    assert linked
    assert set(linked) <= set(ALL_RULES)
    for rule in linked:
        assert f'id="{rule}"' in text


def test_timeline_detail_is_a_figure_of_the_asked_range(lab: Laboratory, somebody: Client) -> None:
    url = reverse("run-timeline-detail", args=[lab.run.pk, 0])

    figure = somebody.get(f"{url}?from=0.0&to=1.0").json()

    assert figure["layout"]["xaxis"]["range"] == [0.0, 1.0]
    assert figure["layout"]["yaxis"]["ticktext"] == ["cases-0001.A1", "cases-0002.A1"]
    assert somebody.get(reverse("run-timeline-detail", args=[lab.run.pk, 7])).status_code == 404


def test_a_run_that_does_not_exist_is_404(lab: Laboratory, somebody: Client) -> None:
    missing = "00000000-0000-7000-8000-000000000000"

    text = page(somebody, reverse("run", args=[missing]), status=404)

    assert "There is no such page" in text
