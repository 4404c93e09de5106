"""The database itself refuses to change what was sealed: tried by raw SQL, on whichever database runs."""

from uuid import UUID

import pytest
from django.db import DatabaseError, connection, transaction

from assay.archive.paths import Home
from assay.execution.machine import this_worker
from assay.execution.models import Execution
from assay.ledger.ids import uuid7
from assay.ledger.indexing import index_interpretation
from assay.ledger.models import Bundle, Run
from assay.ledger.services import record_bundle
from tests.assay.execution.fake_interpreter import READING
from tests.assay.ledger.summaries import summary
from tests.assay.specs import queued_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def sealed() -> Run:
    """A run with an accepted execution, a bundle and everything that was read from it."""
    run = queued_study().runs.get()
    execution_id = uuid7()
    bundle = record_bundle(summary(run), run=run, execution_id=execution_id)
    index_interpretation(bundle, READING, digest="d" * 64)
    Execution.objects.create(
        id=execution_id,
        run=run,
        token="t" * 64,
        worker=str(this_worker()),
        folder="/nowhere",
        state="ended",
        ended_at="2026-11-29T12:00:00Z",
    )
    Run.objects.filter(id=run.id).update(state="sealed", accepted_execution=execution_id)
    return Run.objects.get(id=run.id)


GUARDED = {
    "ledger_bundle": "state = 'failed'",
    "ledger_interpretation": "definition_version = 'other'",
    "ledger_measure": "value = 1.0",
    "ledger_ledgercount": "count = 99",
    "ledger_gapentry": "state = 'closed'",
    "ledger_residual": "measured = 1.0",
    "ledger_run": "state = 'failed'",
    "execution_execution": "exit_code = 0",
}


@pytest.mark.parametrize("table", GUARDED)
def test_a_sealed_row_cannot_be_updated(table: str, sealed: Run) -> None:
    assert "cannot be changed" in refusal_of(f"UPDATE {table} SET {GUARDED[table]}")


@pytest.mark.parametrize("table", GUARDED)
def test_a_sealed_row_cannot_be_deleted(table: str, sealed: Run) -> None:
    assert "cannot be changed" in refusal_of(f"DELETE FROM {table}")


def refusal_of(statement: str) -> str:
    with (
        pytest.raises(DatabaseError) as refused,
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
    return str(refused.value)


@pytest.mark.req("1.14")
@pytest.mark.forbids
@pytest.mark.parametrize(
    "change", ["spec = '{}'", "spec_digest = 'x'", "accepted_execution = NULL", "position = 7"]
)
def test_what_a_sealed_run_was_cannot_be_rewritten(change: str, sealed: Run) -> None:
    assert "cannot be changed" in refusal_of(f"UPDATE ledger_run SET {change}")


def test_a_sealed_run_may_still_learn_its_artifact(sealed: Run) -> None:
    Run.objects.filter(id=sealed.id).update(progress={"phase": "end"})

    assert Run.objects.get(id=sealed.id).progress == {"phase": "end"}


def test_a_running_execution_is_not_guarded() -> None:
    run = queued_study().runs.get()
    Execution.objects.create(id=uuid7(), run=run, token="t", worker="w", folder="/nowhere")

    assert Execution.objects.update(exit_code=1) == 1


def test_the_orm_is_refused_as_well(sealed: Run, assay_home: Home) -> None:
    bundle = Bundle.objects.get()

    with pytest.raises(DatabaseError), transaction.atomic():
        bundle.interpretations.get().delete()
    assert isinstance(bundle.execution_id, UUID)
