"""What a request may ask for, and how it is told that it may not."""

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from runners.artifacts.chat_template import ChatTemplate
from runners.engines.torch.api_request import CHAT, COMPLETIONS, ApiProblem, Asked, parse
from runners.engines.torch.artifact_text import ArtifactText
from tests.runners.engines.torch.configs import server_config

TEMPLATE = "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% endfor %}"
CONFIG = server_config(Path("/nowhere/model.gguf"), "gguf")  # longest request: 128 tokens


def bytes_tokenizer() -> Tokenizer:
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE(vocab={letter: n for n, letter in enumerate(letters)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return made


TEXT = ArtifactText(
    tokenizer=bytes_tokenizer(),
    vocabulary=256,
    template=ChatTemplate(text=TEMPLATE, special_tokens={}),
    eos_token_ids=(),
)
HELLO = {"model": "served", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 4}
ONCE = {"model": "served", "prompt": "Once", "max_tokens": 4}


def asked(kind: str, body: Any) -> Asked:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return parse(kind, data, request="r1", config=CONFIG, text=TEXT)


def test_messages_are_expanded_by_the_artifacts_template() -> None:
    call = asked(CHAT, HELLO).call

    assert TEXT.tokenizer.decode(list(call.prompt)) == "<user>hello"
    assert call.sampling.greedy
    assert call.request == "r1"


def test_content_parts_of_text_are_joined() -> None:
    parts = [{"type": "text", "text": "hel"}, {"type": "text", "text": "lo"}]
    body = HELLO | {"messages": [{"role": "user", "content": parts}]}

    assert asked(CHAT, body).call.prompt == asked(CHAT, HELLO).call.prompt


def test_a_prompt_may_be_text_or_token_ids() -> None:
    text = asked(COMPLETIONS, ONCE).call.prompt

    assert asked(COMPLETIONS, ONCE | {"prompt": list(text)}).call.prompt == text
    assert asked(COMPLETIONS, ONCE | {"prompt": ["Once"]}).call.prompt == text


def test_sampling_stop_and_stream_options_are_honoured() -> None:
    body = HELLO | {
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": -1,
        "seed": 11,
        "stop": "x",
        "ignore_eos": True,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_token_ids": True,
    }
    got = asked(CHAT, body)

    sampling = got.call.sampling
    assert (sampling.temperature, sampling.top_p, sampling.top_k, sampling.seed) == (
        0.5,
        0.9,
        0,
        11,
    )
    assert (got.call.stop, got.call.ignore_eos) == (("x",), True)
    assert (got.stream, got.include_usage, got.return_token_ids) == (True, True, True)


def test_an_absent_seed_is_drawn_anew() -> None:
    assert asked(CHAT, HELLO).call.sampling.seed != asked(CHAT, HELLO).call.sampling.seed


def test_absent_max_tokens_fill_the_context_of_a_chat() -> None:
    body = {name: value for name, value in HELLO.items() if name != "max_tokens"}
    call = asked(CHAT, body).call

    assert len(call.prompt) + call.max_tokens == 128
    assert asked(COMPLETIONS, {"model": "served", "prompt": "Once"}).call.max_tokens == 16


def test_unknown_fields_are_ignored_and_neutral_ones_allowed() -> None:
    body = HELLO | {"user": "me", "n": 1, "logprobs": False, "tools": [], "frequency_penalty": 0}

    assert asked(CHAT, body).call.prompt


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("kind", "changed", "message"),
    [
        (CHAT, {"n": 2}, r"^n: 2 \(allowed: 1, or leave it out\)$"),
        (CHAT, {"logprobs": True}, r"^logprobs: true \(allowed: false"),
        (CHAT, {"tools": [{"type": "function"}]}, r"^tools: "),
        (CHAT, {"temperature": -1}, r"^temperature: -1 \(allowed: a number from 0 to 2\)$"),
        (CHAT, {"temperature": "hot"}, r'^temperature: "hot"'),
        (CHAT, {"top_p": 0}, r"^top_p: 0 "),
        (CHAT, {"top_k": 1.5}, r"^top_k: 1\.5 "),
        (CHAT, {"seed": "x"}, r'^seed: "x" '),
        (CHAT, {"stop": [""]}, r"^stop: "),
        (CHAT, {"stop": ["a"] * 17}, r"^stop: "),
        (CHAT, {"stream": "yes"}, r'^stream: "yes" \(allowed: true or false\)$'),
        (CHAT, {"stream_options": 1}, r"^stream_options: 1 "),
        (CHAT, {"max_tokens": 0}, r"^max_tokens: 0 \(allowed: a whole number from 1\)$"),
        (CHAT, {"max_tokens": True}, r"^max_tokens: true "),
        (CHAT, {"messages": []}, r"^messages: \[\] "),
        (CHAT, {"messages": [{"role": "user"}]}, r"^messages\[0\]\.content: null"),
        (CHAT, {"messages": ["hi"]}, r'^messages\[0\]: "hi"'),
        (
            CHAT,
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            r"^messages\[0\]\.content: .*parts of type text",
        ),
        (COMPLETIONS, {"prompt": ""}, r'^prompt: ""'),
        (COMPLETIONS, {"prompt": ["a", "b"]}, r'^prompt: "a" \(allowed: token ids'),
        (COMPLETIONS, {"prompt": [5, 256]}, r"^prompt: 256 \(allowed: token ids from 0 to 255\)$"),
        (COMPLETIONS, {"prompt": [5, -1]}, r"^prompt: -1 "),
        (COMPLETIONS, {"prompt": [True]}, r"^prompt: true "),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(
    kind: str, changed: dict[str, Any], message: str
) -> None:
    body = (HELLO if kind == CHAT else ONCE) | changed

    with pytest.raises(ApiProblem, match=message) as caught:
        asked(kind, body)

    assert caught.value.status == 400
    error = caught.value.body()["error"]
    assert error["type"] == "invalid_request_error"
    assert error["param"] is not None


@pytest.mark.forbids
def test_a_request_that_can_never_fit_is_told_both_numbers() -> None:
    body = {"model": "served", "prompt": [1] * 100, "max_tokens": 29}

    with pytest.raises(ApiProblem) as caught:
        asked(COMPLETIONS, body)

    message = str(caught.value)
    assert "the prompt has 100 tokens and max_tokens is 29: 129 tokens can never fit" in message
    assert "allowed: 128 together; max_length is 128, the KV cache holds 128" in message
    assert caught.value.code == "context_length_exceeded"
    assert asked(COMPLETIONS, body | {"max_tokens": 28}).call.longest == 128


@pytest.mark.forbids
def test_an_unknown_model_is_not_found() -> None:
    with pytest.raises(ApiProblem, match="'gpt' is not served here") as caught:
        asked(CHAT, HELLO | {"model": "gpt"})

    assert caught.value.status == 404
    with pytest.raises(ApiProblem, match=r"^model: null"):
        asked(CHAT, {"messages": HELLO["messages"]})


@pytest.mark.forbids
@pytest.mark.parametrize(
    "body",
    [b"{", b"[]", b"\xff\xfe", b"[" * 200_000, b'{"prompt": "half a pair: \\uD800"}'],
    ids=["cut", "list", "bytes", "deep", "surrogate"],
)
def test_a_body_that_is_no_json_object_is_refused(body: bytes) -> None:
    with pytest.raises(ApiProblem, match="the body is not") as caught:
        asked(CHAT, body)

    assert caught.value.code == "invalid_json"
