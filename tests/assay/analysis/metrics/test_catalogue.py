"""Every metric of the catalogue keeps the same contract."""

import math

import pytest

from assay.analysis.absence import Absent
from assay.analysis.metrics.catalogue import ALL_RULES, families
from assay.analysis.metrics.group_rules import GROUP_RULES
from assay.analysis.metrics.registry import ATTEMPT_RULES
from assay.analysis.metrics.rule import Definition, Rule
from assay.analysis.metrics.server import NO_RECORD
from assay.analysis.rates import ServiceLevels
from tests.assay.analysis.engine import Reading, cancelled_in_decode
from tests.assay.analysis.streams import attempts, delta, interpretation, one, read, row

UNITS = {
    *(
        "s",
        "ms",
        "us",
        "ns",
        "token",
        "token/s",
        "request",
        "request/s",
        "item/s",
        "byte",
        "1",
        "J",
    ),
    "currency",  # as a price declares it
}


@pytest.mark.parametrize("rule", ALL_RULES.values(), ids=lambda r: r.id)
def test_a_rule_says_what_it_is(rule: Definition) -> None:
    assert rule.unit in UNITS
    assert rule.version >= 1
    for words in (rule.title, rule.formula, rule.population, rule.needs, rule.source, rule.layer):
        assert words
    assert rule.perspective in {"client", "server", "both"}


@pytest.mark.parametrize("rule", ATTEMPT_RULES.values(), ids=lambda r: r.id)
def test_a_rule_of_an_attempt_says_how_it_is_computed(rule: Rule) -> None:
    assert rule.compute.__doc__ or rule.samples is not None


@pytest.mark.parametrize("rule", ATTEMPT_RULES.values(), ids=lambda r: r.id)
def test_a_rule_gives_a_finite_number_or_a_reason(rule: Rule) -> None:
    left = attempts(row("created", 0), row("sent", 1), read(33, delta("x")), row("cancel", 100))
    reading = Reading(cancelled_in_decode(), left)

    for attempt, record in ((left[0], reading.record("a")), (one(row("created", 0)), None)):
        value = rule.compute(attempt, record)
        if isinstance(value, Absent):
            assert value.reason
        else:
            assert math.isfinite(value)


@pytest.mark.req("3.13")
@pytest.mark.forbids
def test_a_server_metric_is_never_filled_from_the_client() -> None:
    attempt = one(row("sent", 0), read(10, delta("x", finish="stop")), row("closed", 11))

    for rule in ATTEMPT_RULES.values():
        if rule.perspective == "server":
            assert isinstance(rule.compute(attempt, None), Absent), rule.id


def test_the_words_first_token_name_no_rule() -> None:
    # A "first token" figure that does not say whether content or visible answer is meant has no id here.
    assert not [rule for rule in ATTEMPT_RULES if rule in {"ttft", "ttft.client", "first_token"}]


def test_no_rule_is_defined_twice_and_each_is_in_one_family() -> None:
    shown = [rule.id for _, rules in families() for rule in rules]

    assert not set(ATTEMPT_RULES) & set(GROUP_RULES)
    assert sorted(shown) == sorted(ALL_RULES)


def test_every_aggregate_has_a_definition_of_its_unit() -> None:
    rows = [row("sent", 0), read(10, delta("x", finish="stop")), row("closed", 11, status=200)]

    found = interpretation(rows, slo=ServiceLevels(ttft_s=1.0))["aggregates"]

    assert {"goodput.rate", "throughput.requests", "error_rate"} <= {a["rule"] for a in found}
    assert {a["rule"]: a["unit"] for a in found} == {
        a["rule"]: ALL_RULES[a["rule"]].unit for a in found
    }


@pytest.mark.parametrize(
    "rule", [r for r in ATTEMPT_RULES.values() if r.perspective == "server"], ids=lambda r: r.id
)
def test_a_rule_of_the_server_says_of_no_attempt_anything_without_its_record(rule: Rule) -> None:
    # It is not even asked then: every attempt of a run without an engine's record has the same answer.
    assert rule.compute(one(row("sent", 0)), None) == Absent(NO_RECORD)
