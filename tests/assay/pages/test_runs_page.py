"""The list of runs: filters, live state, headline numbers, export, and how many queries it takes."""

import csv
import io
import json

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from assay.archive.paths import Home
from assay.ledger.models import Run
from tests.assay.pages import factory
from tests.assay.pages.conftest import page
from tests.assay.pages.factory import Laboratory

MOST_QUERIES = 12


def test_an_empty_installation_says_what_to_do_next(
    db: None, assay_home: Home, somebody: Client
) -> None:
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
