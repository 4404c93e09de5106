"""Without a tokenizer no token count is claimed, and prompts are words that a person can read."""

import json

import pytest

from experiments.quick_look import QuickLook, declaration
from experiments.schema.load import LoadKind
from experiments.schema.workload import Endpoint
from runners.load.materialise import materialise, plan_digest
from runners.load.uncounted import WordEncoder, without_counts


def quick(endpoint: Endpoint = Endpoint.chat) -> QuickLook:
    return QuickLook(
        url="http://127.0.0.1:1",
        model="small",
        kind=LoadKind.closed,
        concurrency=2,
        rate_per_s=None,
        requests=3,
        input_tokens=7,
        output_tokens=4,
        endpoint=endpoint,
    )


@pytest.mark.parametrize("endpoint", list(Endpoint)[:2])
def test_a_plan_without_a_tokenizer_states_no_counts(endpoint: Endpoint) -> None:
    counted = materialise(
        declaration(quick(endpoint)), WordEncoder(), tokenizer_sha256="", chat_template_sha256=""
    )

    plan = without_counts(counted)

    assert [r["input_tokens"] for r in plan.plan] == [None] * 3
    assert [r["input_sha256"] for r in plan.plan] == [None] * 3
    for prompt in plan.prompts:
        unknown = ("token_ids", "tokenizer_sha256", "chat_template_sha256")
        assert [prompt[name] for name in unknown] == [None] * 3
    assert plan.digest == plan_digest(list(plan.plan)) != counted.digest


def test_each_prompt_has_the_declared_number_of_words_and_none_comes_twice() -> None:
    counted = materialise(
        declaration(quick()), WordEncoder(), tokenizer_sha256="", chat_template_sha256=""
    )

    prompts = [json.loads(p["messages"])[0]["content"] for p in without_counts(counted).prompts]

    assert [len(text.split()) for text in prompts] == [7, 7, 7]
    assert len(set(prompts)) == 3


def test_only_a_completion_keeps_its_text_as_what_the_model_gets() -> None:
    """Around a chat lies a template that nobody here knows."""
    expanded = {}
    for endpoint in (Endpoint.chat, Endpoint.completions):
        counted = materialise(
            declaration(quick(endpoint)),
            WordEncoder(),
            tokenizer_sha256="",
            chat_template_sha256="",
        )
        expanded[endpoint] = without_counts(counted).prompts[0]["expanded"]

    assert expanded[Endpoint.chat] is None
    assert len(str(expanded[Endpoint.completions]).split()) == 7
