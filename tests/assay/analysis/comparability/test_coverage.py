"""Path evidence reaches as far as the batches that were traced."""

import pytest

from assay.analysis.comparability.coverage import check_covered, not_covered
from assay.analysis.comparability.record import RunRecord
from assay.analysis.comparability.sides import sides_of
from assay.analysis.errors import ClaimRefused
from tests.assay.analysis.comparability.runs import number, observed, run


def batches(*, traced: int | None, measured: float | None) -> RunRecord:
    runner = {"class": "Llama"} | ({"largest_batch_traced": traced} if traced else {})
    batch = number(measured, rule="batch.server", statistic="max", unit="1", perspective="server")
    return run("a", observed=observed(model_runner=runner), numbers=(batch,))


@pytest.mark.req("7.13")
@pytest.mark.forbids
def test_a_trace_of_one_request_does_not_cover_a_batch_of_four() -> None:
    with pytest.raises(ClaimRefused) as refused:
        check_covered(batches(traced=1, measured=4.0))

    assert refused.value.finding.seen == "traced batches up to 1, measured batches up to 4"


@pytest.mark.req("7.13")
def test_a_trace_covers_the_batches_that_it_saw() -> None:
    check_covered(batches(traced=4, measured=4.0))


def test_without_a_trace_no_batch_is_covered() -> None:
    (sentence,) = not_covered(sides_of([batches(traced=None, measured=2.0)]))

    assert sentence.startswith("A: no batch was traced")


def test_a_run_that_measured_no_batch_claims_nothing() -> None:
    assert not_covered(sides_of([batches(traced=None, measured=None)])) == ()
