"""A claim on where it is slow stands at the end of its chain, and nowhere earlier."""

import pytest

from assay.analysis.errors import ClaimRefused
from assay.analysis.proof_chain import ORDER, Link, conclude

CHAIN = [Link(step=step, evidence=f"run.json:{n}") for n, step in enumerate(ORDER)]


@pytest.mark.req("9.14")
def test_a_whole_chain_carries_the_claim_with_every_piece_of_evidence() -> None:
    said = conclude("queueing is slow", CHAIN)

    assert said.startswith("queueing is slow: boundary and unit (run.json:0); end to end")
    assert said.endswith("intervention and repeat (run.json:3)")


@pytest.mark.req("9.14")
@pytest.mark.forbids
@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_a_chain_that_is_not_finished_is_a_hypothesis(steps: int) -> None:
    with pytest.raises(ClaimRefused, match="Until then it is a hypothesis"):
        conclude("queueing is slow", CHAIN[:steps])


@pytest.mark.req("9.14")
@pytest.mark.forbids
def test_an_intervention_before_the_path_is_refused() -> None:
    swapped = [CHAIN[0], CHAIN[1], CHAIN[3], CHAIN[2]]

    with pytest.raises(ClaimRefused, match="order of the proof"):
        conclude("queueing is slow", swapped)


@pytest.mark.forbids
def test_a_step_without_evidence_is_no_step() -> None:
    with pytest.raises(ClaimRefused, match="none for boundary and unit"):
        conclude("queueing is slow", [Link(step=ORDER[0], evidence=" "), *CHAIN[1:]])
