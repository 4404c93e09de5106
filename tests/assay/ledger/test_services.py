"""Studies, bundles, artifacts and imported runs as rows."""

from pathlib import Path

import pytest
from pytest_django import DjangoAssertNumQueries

from assay.ledger import queries, services
from assay.ledger.ids import uuid7
from assay.ledger.indexing import index_interpretation
from assay.ledger.models import (
    Artifact,
    Bundle,
    GapEntry,
    Interpretation,
    LedgerCount,
    Measure,
    Residual,
    Run,
    Study,
)
from runners.protocol.events import RunState
from tests.assay.execution.fake_interpreter import READING
from tests.assay.ledger.summaries import ARTIFACT, summary
from tests.assay.specs import planned, queued_study

pytestmark = pytest.mark.django_db


def test_a_study_and_all_its_runs_are_written_together_or_not_at_all() -> None:
    declaration = services.Declaration(name="smoke", tags=["cpu"], order_seed=7)

    with pytest.raises(Exception, match=r"(?i)unique"):
        services.create_study(declaration, [planned(0), planned(0)])  # one place, two runs

    assert not Study.objects.exists()
    assert not Run.objects.exists()


def test_a_run_row_holds_what_its_spec_says() -> None:
    run = queued_study(2, kind="cuda").runs.get(position=1)

    assert (run.artifact_name, run.engine_key, run.engine_version) == ("small-model", "torch", "1")
    assert (run.device_name, run.queue, run.state) == ("this machine", "cuda", "queued")


def test_a_bundle_teaches_its_run_the_verified_artifact() -> None:
    run = queued_study().runs.get()

    services.record_bundle(summary(run), run=run, execution_id=uuid7())

    artifact = Artifact.objects.get()
    assert artifact.digest == ARTIFACT["digest"]
    assert Run.objects.get().artifact_id == artifact.pk


def test_recording_a_bundle_twice_gives_one_row() -> None:
    run = queued_study().runs.get()
    first = services.record_bundle(summary(run), run=run, execution_id=uuid7())

    second = services.record_bundle(summary(run), run=run, execution_id=uuid7())

    assert (first.digest, first.execution_id) == (second.digest, second.execution_id)


def indexed() -> Interpretation:
    run = queued_study().runs.get()
    bundle = services.record_bundle(summary(run), run=run, execution_id=uuid7())
    return index_interpretation(bundle, READING, digest="d" * 64)


@pytest.mark.req("8.01", "9.06", "9.10")
def test_the_index_keeps_four_ledgers_gaps_and_limits_apart() -> None:
    reading = indexed()

    assert [(c.ledger, c.state) for c in LedgerCount.objects.all()] == [("client", "cancelled")]
    assert GapEntry.objects.get().needed == "a profiler"
    assert {m.limited_by for m in Measure.objects.all()} == {"E1"}
    assert Residual.objects.get().klass == "model_omission"
    assert reading.digest == "d" * 64


def test_indexing_twice_changes_nothing() -> None:
    reading = indexed()

    again = index_interpretation(Bundle.objects.get(), READING, digest="e" * 64)

    assert (again.pk, again.digest) == (reading.pk, "d" * 64)
    assert Measure.objects.count() == len(READING["aggregates"])


def test_a_large_reading_is_written_in_chunks(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    run = queued_study().runs.get()
    bundle = services.record_bundle(summary(run), run=run, execution_id=uuid7())
    many = {**READING, "gaps": READING["gaps"] * 1200}

    with django_assert_max_num_queries(25):
        index_interpretation(bundle, many, digest="d" * 64)

    assert GapEntry.objects.count() == 1200


def test_an_imported_run_keeps_its_id_if_it_is_free() -> None:
    wanted = uuid7()
    facts = summary(queued_study().runs.get(), run_id=str(wanted), spec_digest="f" * 64)

    run = services.record_imported_run(facts, owner="ada")

    assert (run.id, run.state, run.study.tags) == (wanted, "sealed", ["imported"])


def test_a_stranger_with_a_known_run_id_gets_an_id_of_its_own() -> None:
    mine = queued_study().runs.get()
    stranger = summary(mine, spec_digest="f" * 64)

    run = services.record_imported_run(stranger, owner="ada")

    assert run.id != mine.id
    assert Run.objects.get(id=mine.id).spec_digest == mine.spec_digest


def test_a_lost_run_that_is_imported_is_accepted_by_nobody() -> None:
    facts = summary(queued_study().runs.get(), run_id=str(uuid7()), state=RunState.lost)
    run = services.record_imported_run(facts, owner="ada")

    services.accept_imported(run, execution_id=uuid7())

    assert Run.objects.get(id=run.id).accepted_execution is None


def test_a_run_is_found_by_the_beginning_of_its_id_or_of_its_bundle() -> None:
    run = queued_study().runs.get()
    services.record_bundle(summary(run), run=run, execution_id=uuid7())

    for text in (str(run.id), str(run.id)[:9], run.id.hex.upper(), "cccccc", "c" * 64):
        assert [r.id for r in queries.find_runs(text)] == [run.id], text
    for text in ("", "c", "ccccc", "xyzxyzxyz", "d" * 64, "0" * 12):
        assert not queries.find_runs(text).exists(), text


def test_the_accepted_bundle_is_preferred_to_a_later_one() -> None:
    run, execution_id = queued_study().runs.get(), uuid7()
    services.record_bundle(summary(run), run=run, execution_id=execution_id)
    services.record_bundle(
        summary(run, digest="e" * 64, state=RunState.lost), run=run, execution_id=uuid7()
    )
    Run.objects.filter(id=run.id).update(accepted_execution=execution_id)

    found = queries.bundle_of(Run.objects.get(id=run.id))

    assert found is not None
    assert found.digest == "c" * 64


def test_what_was_quarantined_is_on_record(tmp_path: Path) -> None:
    kept = services.record_quarantined(folder=tmp_path, reason="damaged", problems=["a: changed"])

    assert (kept.reason, kept.problems) == ("damaged", ["a: changed"])
