"""A chat template is rendered as transformers renders it, but in a sandbox and without a clock."""

import hashlib

import pytest

from experiments.compose import compose
from runners.artifacts.chat_template import ChatTemplate, TemplateProblem
from tests.runners.artifacts import real

USER = [{"role": "user", "content": 'Hi <b>& "you"</b>'}]


def template(text: str, **special: str) -> ChatTemplate:
    return ChatTemplate(text=text, special_tokens=special)


@pytest.mark.req("5.10", "5.11")
def test_the_real_template_is_the_declared_one_and_puts_in_its_system_message() -> None:
    found = real.encoder().template
    declared = compose(["study=smollm2_torch"]).document["artifact"]["chat_template"]

    assert found.sha256 == declared["sha256"]
    assert found.render([{"role": "user", "content": "Hello"}]) == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
        "<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
    )


def test_the_hash_is_over_the_text() -> None:
    assert template("é").sha256 == hashlib.sha256("é".encode()).hexdigest()


def test_nothing_is_escaped() -> None:
    assert template("{{ messages[0]['content'] }}").render(USER) == USER[0]["content"]
    assert template("{{ messages[0] | tojson }}").render(USER) == (
        '{"role": "user", "content": "Hi <b>& \\"you\\"</b>"}'
    )


def test_blocks_leave_no_blank_lines() -> None:
    text = (
        "{% for m in messages %}\n  {% if true %}\n{{ m['role'] }}\n  {% endif %}\n{% endfor %}\n"
    )

    assert template(text).render(USER) == "user\n"


def test_special_tokens_are_known_by_name_and_loops_can_break() -> None:
    text = "{{ bos_token }}{% for m in messages %}{{ m['role'] }}{% break %}{% endfor %}"

    assert template(text, bos_token="<s>").render(USER * 2) == "<s>user"


@pytest.mark.forbids
@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.append(1) }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ range(10**9) | list }}",
    ],
)
def test_code_in_a_template_cannot_leave_the_sandbox(text: str) -> None:
    with pytest.raises(TemplateProblem):
        template(text).render(USER)


@pytest.mark.forbids
def test_a_template_that_asks_for_the_date_is_refused() -> None:
    with pytest.raises(TemplateProblem, match="cannot be repeated"):
        template("{{ strftime_now('%Y') }}").render(USER)


def test_a_template_may_refuse_messages_in_its_own_words() -> None:
    with pytest.raises(TemplateProblem, match="roles must alternate"):
        template("{{ raise_exception('roles must alternate') }}").render(USER)


def test_a_template_that_cannot_be_compiled_is_refused() -> None:
    with pytest.raises(TemplateProblem):
        template("{% for %}").render(USER)
