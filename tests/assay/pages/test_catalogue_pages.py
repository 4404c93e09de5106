"""Studies, artifacts and rules."""

import json

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from assay.analysis.metrics.registry import ATTEMPT_RULES
from assay.ledger.indexing import index_interpretation
from assay.ledger.models import Artifact, Study
from assay.pages.contexts.study import study_page
from tests.assay.pages import simulated
from tests.assay.pages.conftest import page
from tests.assay.pages.factory import Laboratory


def test_a_study_lists_its_runs_in_recorded_order(lab: Laboratory, somebody: Client) -> None:
    text = page(somebody, reverse("study", args=[lab.study.pk]))

    places = [text.index(f'href="/runs/{run.pk}"') for run in lab.sweep]
    assert places == sorted(places)
    assert "How do first token and output rate move with concurrency?" in text
    assert "order seed" in text


def test_a_sweep_is_drawn_over_what_it_moved(lab: Laboratory) -> None:
    made = study_page(lab.study.pk)

    assert made.moved == "load.concurrency"
    assert made.figure is not None
    first = made.figure["data"][0]
    assert first["x"] == [1, 2, 4]
    # TTFT p50 of the made-up runs: 142 ms times 0.7, 0.8 and 1.0
    assert first["y"] == pytest.approx([99.4, 113.6, 142.0])


@pytest.mark.req("6.10")
def test_a_metric_of_another_definition_version_is_not_drawn_as_the_same(
    lab: Laboratory, somebody: Client
) -> None:
    assert "Not drawn" not in page(somebody, reverse("study", args=[lab.study.pk]))
    document = simulated.interpretation(lab.bundle.digest, simulated.aggregates(2.0))
    other = {**document, "definition_version": "2999.1.1"}
    index_interpretation(lab.bundle, other, digest="78" * 32)

    made = study_page(lab.study.pk)

    # The run at concurrency 4 has a newer reading by other rules.
    assert made.figure is not None
    assert made.figure["data"][0]["x"] == [1, 2]
    assert made.left_out == 1
    assert "Not drawn: 1 of the runs" in page(somebody, reverse("study", args=[lab.study.pk]))


def test_one_start_each_leaves_the_spread_unknown(lab: Laboratory, somebody: Client) -> None:
    text = page(somebody, reverse("study", args=[lab.study.pk]))

    assert "the spread from start to start is unknown" in text


def test_a_study_without_numbers_has_no_empty_chart(lab: Laboratory, somebody: Client) -> None:
    other = Study.objects.exclude(pk=lab.study.pk).get()

    assert "plotly" not in page(somebody, reverse("study", args=[other.pk]))


def test_an_artifact_shows_its_bytes_and_its_runs(lab: Laboratory, somebody: Client) -> None:
    text = page(somebody, reverse("artifact", args=[lab.artifact.digest]))

    for words in ("93.8", "h_kv", "Q4_1", "upstream commit", "smollm2_concurrency"):
        assert words in text


@pytest.mark.req("5.26")
@pytest.mark.forbids
def test_a_converted_artifact_is_never_shown_as_its_parent(
    lab: Laboratory, somebody: Client
) -> None:
    child = Artifact.objects.create(
        digest="c0" * 32,
        name="SmolLM2 dequantized",
        revision="sha256:" + "c0" * 32,
        parent_digest=lab.artifact.digest,
        document={**lab.artifact.document, "digest": "c0" * 32, "name": "SmolLM2 dequantized"},
    )

    text = page(somebody, reverse("artifact", args=[child.digest]))

    assert "another artifact; a comparison with it is one between two artifacts" in text
    assert "No run of it yet" in text


@pytest.mark.parametrize("name", ["studies", "artifacts", "rules"])
def test_a_list_takes_few_queries(
    name: str,
    lab: Laboratory,
    somebody: Client,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_max_num_queries(6):
        page(somebody, reverse(name))


@pytest.mark.parametrize("name", ["studies", "artifacts"])
def test_an_empty_list_gives_a_command(name: str, db: None, somebody: Client) -> None:
    assert "assay run study=smollm2_torch" in page(somebody, reverse(name))


def test_every_rule_of_the_registry_has_an_anchor(db: None, somebody: Client) -> None:
    text = page(somebody, reverse("rules"))

    assert all(f'id="{rule}"' in text for rule in ATTEMPT_RULES)


def test_studies_are_searched_and_exported(lab: Laboratory, somebody: Client) -> None:
    text = page(somebody, "/studies?q=tag:cpu+-state:failed+nonsense:x")

    assert lab.study.name in text
    assert "smollm2_torch" not in text.split("studies-region")[1].split("query-help")[0]
    assert "no field nonsense" in text
    rows = json.loads(somebody.get("/studies?q=tag:cpu&format=json").content)
    assert [(row["name"], row["runs"], row["states"]) for row in rows] == [
        ("smollm2_concurrency", 3, {"sealed": 3})
    ]


def test_the_table_of_studies_is_swapped_alone(lab: Laboratory, somebody: Client) -> None:
    response = somebody.get("/studies?part=table&q=x", headers={"HX-Request": "true"})

    assert response.content.decode().lstrip().startswith('<div id="studies-region"')
