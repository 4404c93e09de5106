"""Runs of the index as a comparison reads them."""

import pytest
from pytest_django import DjangoAssertNumQueries

from assay.analysis.definition import DEFINITION_VERSION
from assay.archive.paths import Home
from assay.ledger.comparing import gathered, records
from assay.ledger.indexing import index_interpretation
from assay.ledger.models import Run
from tests.assay.pages import factory, simulated
from tests.assay.pages.factory import Laboratory, laboratory

pytestmark = pytest.mark.django_db


@pytest.fixture
def lab(assay_home: Home) -> Laboratory:
    return laboratory(assay_home)


def test_a_sealed_run_brings_its_numbers_population_and_residuals(lab: Laboratory) -> None:
    (found,) = records([lab.run])

    ttft = next(n for n in found.numbers if n.key == ("ttft.first_content.client", "p50"))
    assert (ttft.value, ttft.unit) == (0.142, "s")
    assert found.population is not None
    # the load's 24 attempts: all but the 4 unusual ones completed
    assert found.population.states == {
        **{"completed": 20, "timeout": 1, "failed": 1},
        **{"rejected": 1, "unfinalised": 1},
    }
    assert found.population.group == "segment load"
    assert len(found.residuals) == 6
    assert found.variables == {"load.concurrency"}


def test_a_number_that_is_not_there_keeps_its_reason(lab: Laboratory) -> None:
    (found,) = records([lab.run])

    p99 = next(n for n in found.numbers if n.key == ("ttft.first_content.client", "p99"))
    assert p99.value is None
    assert p99.absent == "too few samples for p99: 24, at least 100 are needed"


def test_a_run_without_a_bundle_says_so(lab: Laboratory) -> None:
    (found,) = records([lab.by_state["lost"]])

    assert (found.definition_version, found.no_reading) == (None, "no bundle was sealed")
    assert found.observed.identity is None


def test_the_newest_definition_that_every_run_was_read_by_is_chosen(lab: Laboratory) -> None:
    newer = {**simulated.interpretation(lab.bundle.digest, []), "definition_version": "2027.1.1"}
    index_interpretation(lab.bundle, newer, digest="88" * 32)
    factory.derive(lab.home, lab.bundle.digest, newer)

    found = gathered([lab.run, lab.sweep[0]])

    common = DEFINITION_VERSION
    assert [record.definition_version for record in found.records] == [common, common]
    assert found.records[0].definition_versions == ("2027.1.1", common)
    assert found.readings[str(lab.run.pk)].name == common


def test_the_number_of_queries_does_not_grow_with_the_runs(
    lab: Laboratory, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    runs = list(Run.objects.filter(study=lab.study).select_related("study"))

    with django_assert_max_num_queries(4):
        records(runs)
