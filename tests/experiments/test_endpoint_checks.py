"""An endpoint is declared with an engine that has it and settings that its API knows."""

from typing import Any

import pytest

from experiments.plan import check
from experiments.schema.workload import Endpoint
from tests.experiments.declarations import changed, example
from tests.runners.engines.openai_endpoint.declared import spec


@pytest.mark.parametrize("endpoint", [Endpoint.responses, Endpoint.messages])
def test_a_quick_look_at_either_api_is_a_whole_declaration(endpoint: Endpoint) -> None:
    declared = spec(endpoint=endpoint)

    assert check(declared) == []
    assert declared["workload"]["ignore_eos"] is False


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("endpoint", "setting", "value"),
    [
        (Endpoint.responses, "ignore_eos", True),
        (Endpoint.responses, "top_k", 40),
        (Endpoint.responses, "stop", ["\n"]),
        (Endpoint.messages, "ignore_eos", True),
    ],
)
def test_a_setting_that_the_api_cannot_carry_is_refused_by_name(
    endpoint: Endpoint, setting: str, value: Any
) -> None:
    [finding] = check(changed(spec(endpoint=endpoint), f"workload.{setting}", value))

    assert (finding.field, finding.seen) == (f"workload.{setting}", str(value))
    assert f"with endpoint {endpoint.value}" in finding.allowed


def test_messages_know_top_k_and_stop() -> None:
    declared = changed(spec(endpoint=Endpoint.messages), "workload.top_k", 40)

    assert check(changed(declared, "workload.stop", ["\n"])) == []


@pytest.mark.forbids
@pytest.mark.parametrize("endpoint", ["responses", "messages"])
def test_an_engine_without_the_endpoint_is_named(endpoint: str) -> None:
    document = changed(example(), "workload.ignore_eos", False)

    [finding] = check(changed(document, "workload.endpoint", endpoint))

    assert (finding.field, finding.seen) == ("workload.endpoint", endpoint)
    assert finding.allowed == "an endpoint of engine torch, which has no responses and no messages"
