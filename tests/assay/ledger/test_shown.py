"""The numbers that lists show are those of the reading that the run shows, whatever came in which order."""

from datetime import UTC, datetime, timedelta

import pytest

from assay.archive.paths import Home
from assay.ledger.indexing import index_interpretation
from assay.ledger.models import Bundle, Measure, Run, ShownMeasure
from assay.ledger.services import accept_imported
from assay.ledger.shown import newest_interpretations, preferred, shown_bundles
from tests.assay.pages import simulated
from tests.assay.pages.factory import Laboratory, laboratory

pytestmark = pytest.mark.django_db
TTFT = {"rule": "ttft.first_content.client", "statistic": "p50"}


@pytest.fixture
def lab(db: None, assay_home: Home) -> Laboratory:
    return laboratory(assay_home)


def ttft(run: Run) -> float:
    return ShownMeasure.objects.get(run=run, **TTFT).value


def test_every_run_shows_the_finite_numbers_of_its_newest_reading(lab: Laboratory) -> None:
    for run in lab.sweep:
        bundle = shown_bundles([run])[run.pk]
        reading = newest_interpretations([bundle.digest])[bundle.digest]
        chosen = preferred(Measure.objects.filter(interpretation=reading).order_by("pk"))

        shown = ShownMeasure.objects.filter(run=run)

        assert {(s.rule, s.statistic): s.value for s in shown} == {
            key: m.value for key, m in chosen.items() if m.kind == "finite"
        }


def test_a_newer_reading_takes_the_place_of_the_older_one(lab: Laboratory) -> None:
    document = simulated.interpretation(lab.bundle.digest, simulated.aggregates(2.0))

    index_interpretation(
        lab.bundle, {**document, "definition_version": "2999.1.1"}, digest="7" * 64
    )

    # the made-up TTFT p50 is 142 ms at scale 1
    assert ttft(lab.run) == pytest.approx(0.284)


def test_a_run_shows_its_accepted_bundle_even_when_another_is_newer(lab: Laboratory) -> None:
    run = lab.by_state["lost"]
    for number, scale in enumerate((1.0, 3.0)):
        bundle = Bundle.objects.create(
            digest=f"{number}" * 64,
            run=run,
            execution_id=f"00000000-0000-4000-8000-00000000000{number}",
            state="sealed",
            spec_digest="a" * 64,
            bytes=1,
            files=1,
            level="E1",
            identity_complete=False,
            sealed_at=datetime(2026, 11, 30, tzinfo=UTC) + timedelta(hours=number),
        )
        document = simulated.interpretation(bundle.digest, simulated.aggregates(scale))
        index_interpretation(bundle, document, digest="7" * 64)
    assert ttft(run) == pytest.approx(0.426)
    first = Bundle.objects.get(digest="0" * 64)
    Run.objects.filter(pk=run.pk).update(state="sealed")

    accept_imported(run, execution_id=first.execution_id)

    assert ttft(run) == pytest.approx(0.142)
