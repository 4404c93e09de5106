"""Expected and observed attempts per request."""

import pytest

from assay.analysis.errors import BadRecord
from assay.analysis.retries import expected_attempts, observed_retries, retries_document
from tests.assay.analysis.streams import attempts, delta, read, row


def test_without_failures_or_retries_one_attempt_is_expected() -> None:
    assert expected_attempts(0.0, 3).attempts_per_request == 1
    assert expected_attempts(0.5, 0).attempts_per_request == 1


@pytest.mark.req("8.17")
@pytest.mark.forbids
@pytest.mark.parametrize("p", [1.0, 1.5, -0.1])
def test_a_probability_outside_its_domain_is_refused(p: float) -> None:
    with pytest.raises(BadRecord, match=r"allowed: 0 <= p < 1"):
        expected_attempts(p, 2)


@pytest.mark.req("8.18")
@pytest.mark.forbids
def test_amplification_of_requests_says_nothing_on_resources() -> None:
    found = expected_attempts(0.2, 2)

    assert not [name for name in found.__dataclass_fields__ if "resource" in name or "cost" in name]


@pytest.mark.req("8.26", "8.19")
def test_the_failure_rate_is_kept_per_round() -> None:
    rows = []
    for request, tries in {"p": 1, "q": 2, "r": 3}.items():
        for number in range(tries):
            name = f"{request}.A{number + 1}"
            last = number == tries - 1 and request != "r"
            rows.append(row("sent", 100 * number, name, request_id=request))
            if last:
                rows.append(read(100 * number + 5, delta("x", finish="stop"), name))
            rows.append(row("closed" if last else "timeout", 100 * number + 9, name))

    seen = observed_retries(attempts(*rows))

    assert (seen.requests, seen.attempts, seen.attempts_per_request) == (3, 6, 2.0)
    # Round 0: q and r failed of 3; round 1: r failed of 2; round 2: r failed.
    assert [(r.attempts, r.failed) for r in seen.rounds] == [(3, 2), (2, 1), (1, 1)]

    # Expected at the first round's rate: (1 - (2/3)^3) / (1 - 2/3) = 2.111...
    document = retries_document(seen)
    assert document["expected"]["attempts_per_request"] == pytest.approx(2.1111, abs=1e-4)
    assert [p["observed"] for p in document["expected"]["preconditions"]] == [
        "failed per round: 2 of 3, 1 of 2, 1 of 1",
        "every retry followed a failure",
    ]


def test_where_every_first_try_failed_the_formula_says_nothing() -> None:
    rows = [row("sent", 0, "p.A1", request_id="p"), row("timeout", 9, "p.A1")]

    expected = retries_document(observed_retries(attempts(*rows)))["expected"]

    assert expected["attempts_per_request"] is None
    assert expected["absent"] == "every first try failed: the series does not describe that"


def test_a_retry_of_a_completed_attempt_breaks_the_second_precondition() -> None:
    rows = []
    for number in range(2):
        name = f"p.A{number + 1}"
        rows += [
            row("sent", 100 * number, name, request_id="p"),
            read(100 * number + 5, delta("x", finish="stop"), name),
            row("closed", 100 * number + 9, name),
        ]

    document = retries_document(observed_retries(attempts(*rows)))

    assert document["expected"]["preconditions"][1]["observed"] == (
        "1 retries followed a completed attempt"
    )
