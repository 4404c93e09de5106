"""A claim says no more than its evidence carries, and holds for the conditions that it was taken with."""

from typing import Any

import pytest

from assay.analysis.claims.claim import Claim, Says, claim, still_holds
from assay.analysis.errors import ClaimRefused
from runners.protocol.documents import Evidence

CONDITIONS = {
    "layers": 30,
    "steps": 8,
    "batches": ["prefill=1 (36 tokens) decode=0", "prefill=0 (0 tokens) decode=1"],
    "attention_types": {"bfloat16": 240},
    "avx512": False,
}


def evidence(strength: str = "trace", **changes: Any) -> Evidence:
    found: dict[str, Any] = {
        "strength": strength,
        "statement": "attention was called 240 times = 30 layers x 8 steps",
        "pointer": {"file": "trace/rank0.pt.trace.json.gz", "query": "_C::cpu_attention"},
        "conditions": CONDITIONS,
        "engine_version": "0.32.0",
        "t_ns": None,
    }
    return Evidence(**(found | changes))  # type: ignore[typeddict-item]


@pytest.fixture
def ran() -> Claim:
    return claim(Says.ran, "attention", evidence())


@pytest.mark.req("7.11", "7.12")
@pytest.mark.parametrize(
    ("says", "strength"),
    [
        (Says.possible, "source"),
        (Says.declared, "log"),
        (Says.declared, "trace"),
        (Says.ran, "trace"),
    ],
)
def test_each_strength_carries_its_own_claim_and_the_weaker_ones(says: Says, strength: str) -> None:
    made = claim(says, "attention", evidence(strength))

    assert (made.says, made.strength) == (says, strength)
    assert made.engine_version == "0.32.0"
    assert made.pointer is not None


@pytest.mark.req("7.09", "7.11", "7.23")
@pytest.mark.forbids
@pytest.mark.parametrize(
    ("says", "strength"),
    [
        (Says.ran, "log"),  # declared is not enabled
        (Says.ran, "source"),  # a branch that was read is no path that ran
        (Says.declared, "source"),
        (Says.possible, "none"),
    ],
)
def test_a_claim_that_the_evidence_does_not_carry_is_refused(says: Says, strength: str) -> None:
    with pytest.raises(ClaimRefused, match=f"{says} on {strength} evidence"):
        claim(says, "attention", evidence(strength))


@pytest.mark.req("7.12")
@pytest.mark.forbids
@pytest.mark.parametrize(
    "changes",
    [{"conditions": {}}, {"conditions": {"layers": 30, "steps": 0}}, {"pointer": None}],
)
def test_an_operators_name_without_counted_calls_and_a_place_shows_no_path(
    changes: dict[str, Any],
) -> None:
    with pytest.raises(ClaimRefused, match="counted against layers and steps"):
        claim(Says.ran, "attention", evidence(**changes))


@pytest.mark.req("7.13")
@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"batches": "prefill=0 (0 tokens) decode=1"},
        {"attention_types": "bfloat16", "avx512": False},
    ],
)
def test_a_claim_holds_for_what_it_was_taken_with(asked: dict[str, Any], ran: Claim) -> None:
    assert still_holds(ran, engine_version="0.32.0", asked=asked) is ran


@pytest.mark.req("7.13")
@pytest.mark.forbids
@pytest.mark.parametrize(
    ("version", "asked", "named"),
    [
        ("0.32.0", {"batches": "prefill=0 (0 tokens) decode=64"}, "batches"),
        ("0.32.0", {"attention_types": "float8_e4m3fn"}, "attention_types"),
        ("0.32.0", {"avx512": True}, "avx512"),
        ("0.32.0", {"output_tokens": 512}, "output_tokens"),  # no length was part of the evidence
        ("0.33.0", {}, "engine_version"),
    ],
)
def test_a_claim_expires_with_another_shape_type_capability_length_or_version(
    version: str, asked: dict[str, Any], named: str, ran: Claim
) -> None:
    with pytest.raises(ClaimRefused, match=f"{named} = .*expired"):
        still_holds(ran, engine_version=version, asked=asked)
