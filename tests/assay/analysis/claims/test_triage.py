"""Where to look first: three rules, each against a reference, each pointing at responsibilities."""

import pytest

from assay.analysis.claims.triage import Observed, triage
from experiments.changes.components import component_map
from experiments.changes.vocabulary import Responsibility

REFERENCE = Observed(
    queue_s=0.1, first_byte_s=0.3, engine_first_token_s=0.25, inter_token_s=0.05, waiting=0.0
)


def seen(**changes: float | None) -> Observed:
    values = {
        name: getattr(REFERENCE, name)
        for name in ("queue_s", "first_byte_s", "engine_first_token_s", "inter_token_s", "waiting")
    }
    return Observed(**(values | changes))


@pytest.mark.req("7.03")
@pytest.mark.parametrize(
    ("run", "rule", "look_at"),
    [
        (
            seen(queue_s=2.0, waiting=6.0, first_byte_s=2.2, engine_first_token_s=2.15),
            "long queueing",
            (Responsibility.admission, Responsibility.scheduler),
        ),
        (
            seen(first_byte_s=0.9),  # 0.65 s after the engine's first token, before 0.05 s
            "slow first byte with fast generation",
            (Responsibility.output, Responsibility.front_end),
        ),
        (
            seen(inter_token_s=0.2),
            "slow generation with an empty queue",
            (Responsibility.runner, Responsibility.back_end),
        ),
    ],
)
def test_each_pattern_points_at_its_responsibilities(
    run: Observed, rule: str, look_at: tuple[Responsibility, ...]
) -> None:
    (lead,) = triage(run, REFERENCE).leads

    assert (lead.rule, lead.look_at) == (rule, look_at)


@pytest.mark.req("7.03")
@pytest.mark.parametrize(
    "run",
    [
        seen(),
        seen(queue_s=0.14),  # below 1.5 times
        seen(first_byte_s=0.9, engine_first_token_s=0.85),  # the engine itself was late
        seen(
            first_byte_s=0.9, inter_token_s=0.2, waiting=3.0
        ),  # generation is slow too, and a queue stands
    ],
)
def test_where_the_pattern_does_not_hold_nothing_is_pointed_at(run: Observed) -> None:
    assert triage(run, REFERENCE).leads == ()


def test_what_is_not_observed_keeps_its_rule_silent_and_is_named() -> None:
    found = triage(seen(queue_s=None, engine_first_token_s=None, waiting=None), REFERENCE)

    assert found.leads == ()
    assert found.unsaid == (
        "queue time is not observed",
        "first byte against the engine's own first token is not observed",
        "requests waiting is not observed",
    )


@pytest.mark.req("7.02")
def test_a_lead_names_the_parts_of_the_engines_version() -> None:
    (lead,) = triage(
        seen(queue_s=2.0, waiting=6.0), REFERENCE, components=component_map("vllm")
    ).leads

    assert lead.parts == ("SharedAdmissionStats", "RequestQueue", "Scheduler")
