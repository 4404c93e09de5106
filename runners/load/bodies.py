"""How each endpoint is asked: its path and the members of its request body, from rows of the plan.

Sources: OpenAI API reference (chat, completions, embeddings, Responses), Anthropic API reference (Messages),
and the rerank and score endpoints as vLLM has them. A setting that an API does not know is never sent: a
declaration that asks for one is refused when it is composed.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]

STREAM, DOCUMENT = "text/event-stream", "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """``asked`` gives the members that hold the prompt, as JSON without braces around them; ``settings`` the
    others but the model's name. ``accepted`` is a stream where the reply is one of tokens.
    """

    path: str
    call_type: str
    asked: Callable[[Row], bytes]
    settings: Callable[[Row], dict[str, Any]]
    accepted: str = STREAM
    headers: tuple[str, ...] = ()


def _messages(prompt: Row) -> bytes:
    return b'"messages":' + str(prompt["messages"]).encode()


def _text_or_ids(prompt: Row) -> bytes:
    """Token ids where they are known, so that the engine decodes exactly what the plan counted."""
    ids = prompt["token_ids"]
    given = json.dumps(prompt["expanded"]) if ids is None else json.dumps([int(i) for i in ids])
    return b'"prompt":' + given.encode()


def _own_members(prompt: Row) -> bytes:
    return str(prompt["messages"]).encode()[1:-1]


def _without_system(*, messages: str, system: str) -> Callable[[Row], bytes]:
    """For APIs that keep the system's words apart from the messages: the names of both members."""

    def asked(prompt: Row) -> bytes:
        found = json.loads(str(prompt["messages"]))
        said = [str(m["content"]) for m in found if m["role"] == "system"]
        members: dict[str, Any] = {messages: [m for m in found if m["role"] != "system"]}
        if said:
            members[system] = "\n".join(said)
        return json.dumps(members, ensure_ascii=False).encode()[1:-1]

    return asked


def _sampled(row: Row) -> dict[str, Any]:
    """What chat and completions know. 0 for top_k means all tokens, which is what absence means too."""
    return {
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": row["output_cap"],
        "temperature": row["temperature"],
        "top_p": row["top_p"],
        "top_k": row["top_k"] or None,
        "seed": row["sampling_seed"],
        "stop": list(row["stop"] or []) or None,
        "ignore_eos": row["ignore_eos"] or None,  # false is what absence means
    }


def _responses_settings(row: Row) -> dict[str, Any]:
    return {
        "stream": True,
        "max_output_tokens": row["output_cap"],
        "temperature": row["temperature"],
        "top_p": row["top_p"],
    }


def _messages_settings(row: Row) -> dict[str, Any]:
    return {
        "stream": True,
        "max_tokens": row["output_cap"],
        "temperature": row["temperature"],
        "top_p": row["top_p"],
        "top_k": row["top_k"] or None,
        "stop_sequences": list(row["stop"] or []) or None,
    }


def _none(row: Row) -> dict[str, Any]:
    return {}


def _as_floats(row: Row) -> dict[str, Any]:
    return {"encoding_format": "float"}


FORMS: Mapping[str, Form] = {
    "chat": Form(
        path="/v1/chat/completions", call_type="generation", asked=_messages, settings=_sampled
    ),
    "completions": Form(
        path="/v1/completions", call_type="generation", asked=_text_or_ids, settings=_sampled
    ),
    "responses": Form(
        path="/v1/responses",
        call_type="generation",
        asked=_without_system(messages="input", system="instructions"),
        settings=_responses_settings,
    ),
    "messages": Form(
        path="/v1/messages",
        call_type="generation",
        asked=_without_system(messages="messages", system="system"),
        settings=_messages_settings,
        headers=("anthropic-version: 2023-06-01",),
    ),
    "embeddings": Form(
        path="/v1/embeddings",
        call_type="embedding",
        asked=_own_members,
        settings=_as_floats,
        accepted=DOCUMENT,
    ),
    "rerank": Form(
        path="/v1/rerank",
        call_type="rerank",
        asked=_own_members,
        settings=_none,
        accepted=DOCUMENT,
    ),
    "score": Form(
        path="/v1/score",
        call_type="score",
        asked=_own_members,
        settings=_none,
        accepted=DOCUMENT,
    ),
}
# The two that engines with token ids in their answers give them from, where they are asked to.
_GIVE_TOKEN_IDS = ("chat", "completions")


def members(row: Row, *, model: str, return_token_ids: bool) -> dict[str, Any]:
    """Everything in the body beside the prompt. What is not declared is left out, never sent as null."""
    endpoint = row["endpoint"]
    settings = FORMS[endpoint].settings(row)
    if return_token_ids and endpoint in _GIVE_TOKEN_IDS:
        settings["return_token_ids"] = True
    further = json.loads(row["members"]) if row.get("members") else {}
    return {"model": model} | {k: v for k, v in settings.items() if v is not None} | further
