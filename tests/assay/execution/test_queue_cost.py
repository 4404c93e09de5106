"""A run costs the queue the same however many wait: one look into an index, a fixed number of statements."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from assay.archive.paths import Home
from assay.execution import leases
from assay.execution.machine import Worker
from assay.execution.models import ExecutionState
from assay.execution.offers import Offer
from assay.ledger.models import Need
from tests.assay.specs import queued_study

pytestmark = pytest.mark.django_db


def claimed_and_ended(worker: Worker, home: Home, offer: Offer) -> list[str]:
    """The statements of one run's way through the queue."""
    with CaptureQueriesContext(connection) as seen:
        claim = leases.claim_next(worker, home=home, offer=offer)
        assert claim is not None
        leases.renew(claim, progress={"phase": "measure"})
        assert leases.close(claim, state=ExecutionState.ended, exit_code=0)
    return [query["sql"].split()[0] for query in seen.captured_queries]


def test_a_run_takes_as_many_statements_from_a_long_queue_as_from_a_short_one(
    home: Home, worker: Worker, offer: Offer
) -> None:
    queued_study(2)
    short = claimed_and_ended(worker, home, offer)
    for kind in ("cuda", "cpu"):  # many that nobody here can carry out, and many behind
        queued_study(200, kind=kind)

    assert claimed_and_ended(worker, home, offer) == short


@pytest.mark.skipif(
    connection.vendor != "sqlite", reason="PostgreSQL reads so small a table whole, as it should"
)
def test_the_next_run_is_found_in_the_index_without_sorting() -> None:
    queued_study(3)
    need = Need.objects.get()

    plan = leases.queued_of_need().filter(need=need)[:1].explain()

    assert "USING INDEX run_first_of_need" in plan
    assert "TEMP B-TREE" not in plan
