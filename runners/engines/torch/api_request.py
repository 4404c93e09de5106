"""Parse an OpenAI-compatible request body.

Unknown fields are ignored; what is known and cannot be honoured is named. Everything a request may ask for is
checked here, before it reaches the model loop.
"""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runners.artifacts.chat_template import TemplateProblem
from runners.engines.torch.artifact_text import ArtifactText
from runners.engines.torch.calls import Call, Sampling
from runners.engines.torch.settings import ServerConfig

CHAT, COMPLETIONS = "chat", "completions"
COMPLETIONS_DEFAULT_MAX_TOKENS = 16  # OpenAI's default for this endpoint
# Fields that would change the answer and are not implemented: the one value each that changes nothing.
NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "n": (1,),
    "best_of": (1,),
    "logprobs": (False, 0),
    "top_logprobs": (0,),
    "echo": (False,),
    "suffix": ("",),
    "logit_bias": ({},),
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
    "min_tokens": (0,),
    "min_p": (0,),
    "tools": ([],),
    "response_format": ({"type": "text"},),
}


class ApiProblem(Exception):
    """A request that gets an error instead of an answer."""

    def __init__(
        self, message: str, *, status: int = 400, field: str | None = None, code: str
    ) -> None:
        super().__init__(message)
        self.status = status
        self.field = field
        self.code = code

    def body(self) -> dict[str, Any]:
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        error = {"message": str(self), "type": kind, "param": self.field, "code": self.code}
        return {"error": error}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A checked request: the call for the loop, and how the answer is to be written."""

    kind: str
    call: Call
    stream: bool
    include_usage: bool
    return_token_ids: bool


def parse(
    kind: str, body: bytes, *, request: str, config: ServerConfig, text: ArtifactText
) -> Asked:
    """Raises ApiProblem naming the field, the value seen and the values allowed."""
    document = checked_document(body, config, NEUTRAL)
    prompt = _chat(document, text) if kind == CHAT else _prompt(document, text)
    options = document.get("stream_options") or {}
    if not isinstance(options, dict):
        raise bad("stream_options", options, "an object")
    call = Call(
        request=request,
        prompt=tuple(prompt),
        max_tokens=_max_tokens(kind, document, len(prompt), config),
        sampling=_sampling(document, config),
        stop=_stop(document, config),
        ignore_eos=_flag(document, "ignore_eos"),
    )
    return Asked(
        kind=kind,
        call=call,
        stream=_flag(document, "stream"),
        include_usage=_flag(options, "include_usage"),
        return_token_ids=_flag(document, "return_token_ids"),
    )


def checked_document(
    body: bytes, config: ServerConfig, neutral: Mapping[str, tuple[Any, ...]]
) -> dict[str, Any]:
    """The body as an object of a model that is served, with nothing in it that cannot be honoured.

    ``neutral`` holds, of each field that is known and not implemented, the values that change nothing.
    """
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ApiProblem(f"the body is not JSON: {error}", code="invalid_json") from error
    if not isinstance(document, dict):
        raise ApiProblem("the body is not a JSON object", code="invalid_json")
    _check_unicode(document, body)
    _check_model(document, config)
    for field, unchanging in neutral.items():
        value = document.get(field)
        if value is not None and value not in unchanging:
            said = f"{json.dumps(unchanging[0])}, or " if unchanging else ""
            raise bad(field, value, f"{said}leave it out")
    return document


def _check_unicode(document: dict[str, Any], body: bytes) -> None:
    r"""JSON may escape half a surrogate pair (``\\ud800``), which is no text and no tokenizer takes."""
    if b"\\ud" not in body.lower():
        return
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ApiProblem(f"the body is not Unicode text: {error}", code="invalid_json") from error


def _check_model(document: Mapping[str, Any], config: ServerConfig) -> None:
    model = document.get("model")
    if not isinstance(model, str):
        raise bad("model", model, json.dumps(config.model_name))
    if model != config.model_name:
        raise ApiProblem(
            f"model {model!r} is not served here (allowed: {config.model_name!r})",
            status=404,
            field="model",
            code="model_not_found",
        )


def _chat(document: Mapping[str, Any], text: ArtifactText) -> list[int]:
    messages = document.get("messages")
    if not isinstance(messages, list) or not messages:
        raise bad("messages", messages, "a list of at least one message")
    plain = [_message(message, f"messages[{at}]") for at, message in enumerate(messages)]
    try:
        return text.encode_chat(plain)
    except TemplateProblem as error:
        raise ApiProblem(f"messages: {error}", field="messages", code="template") from error


def _message(message: Any, where: str) -> dict[str, Any]:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise bad(where, message, 'an object with "role" and "content"')
    content = message.get("content")
    if isinstance(content, list):
        parts = [p.get("text") for p in content if isinstance(p, dict) and p.get("type") == "text"]
        if len(parts) != len(content) or not all(isinstance(p, str) for p in parts):
            raise bad(f"{where}.content", "a part that is not text", "parts of type text")
        content = "".join(str(p) for p in parts)
    if not isinstance(content, str):
        raise bad(f"{where}.content", content, "text")
    return message | {"content": content}


def _prompt(document: Mapping[str, Any], text: ArtifactText) -> list[int]:
    prompt = document.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1 and not isinstance(prompt[0], int):
        prompt = prompt[0]
    if isinstance(prompt, str) and prompt:
        return text.encode(prompt)
    if not isinstance(prompt, list) or not prompt:
        raise bad("prompt", prompt, "one non-empty text, or one list of token ids")
    for token in prompt:
        whole = isinstance(token, int) and not isinstance(token, bool)
        if not whole or not 0 <= token < text.vocabulary:
            raise bad("prompt", token, f"token ids from 0 to {text.vocabulary - 1}")
    return prompt


def _max_tokens(kind: str, document: Mapping[str, Any], prompt: int, config: ServerConfig) -> int:
    settings = config.settings
    longest = settings.longest_request
    name = "max_completion_tokens" if "max_completion_tokens" in document else "max_tokens"
    asked = document.get(name)
    if asked is None:
        asked = COMPLETIONS_DEFAULT_MAX_TOKENS if kind == COMPLETIONS else max(1, longest - prompt)
    if isinstance(asked, bool) or not isinstance(asked, int) or asked < 1:
        raise bad(name, asked, "a whole number from 1")
    if prompt + asked > longest:
        raise ApiProblem(
            f"the prompt has {prompt} tokens and {name} is {asked}: {prompt + asked} tokens can never fit "
            f"(allowed: {longest} together; max_length is {settings.max_length}, "
            f"the KV cache holds {settings.kv_tokens}). Shorten the prompt or ask for fewer tokens",
            field=name,
            code="context_length_exceeded",
        )
    return asked


def _sampling(document: Mapping[str, Any], config: ServerConfig) -> Sampling:
    defaults = config.generation
    top_k = document.get("top_k")
    top_k = defaults.top_k if top_k is None else top_k
    if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < -1:
        raise bad("top_k", top_k, "a whole number from 0 (all tokens)")
    seed = document.get("seed")
    if seed is None:
        seed = secrets.randbits(63)  # recorded with the request, so that it can be repeated
    if isinstance(seed, bool) or not isinstance(seed, int) or not -(2**63) <= seed < 2**63:
        raise bad("seed", seed, "a 64-bit whole number")
    return Sampling(
        temperature=_number(document, "temperature", defaults.temperature, low=0.0, high=2.0),
        top_p=_number(document, "top_p", defaults.top_p, low=1e-6, high=1.0),
        top_k=max(0, top_k),
        repetition_penalty=_number(
            document, "repetition_penalty", defaults.repetition_penalty, low=0.01, high=10.0
        ),
        seed=seed,
    )


def _stop(document: Mapping[str, Any], config: ServerConfig) -> tuple[str, ...]:
    stop = document.get("stop")
    if stop is None:
        return config.generation.stop
    listed = [stop] if isinstance(stop, str) else stop
    good = isinstance(listed, list) and len(listed) <= 16
    if not good or not all(isinstance(text, str) and text for text in listed):
        raise bad("stop", stop, "a non-empty text or a list of up to 16 of them")
    return tuple(listed)


def _number(
    document: Mapping[str, Any], field: str, default: float, *, low: float, high: float
) -> float:
    value = document.get(field)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise bad(field, value, f"a number from {low:g} to {high:g}")
    return float(value)


def _flag(document: Mapping[str, Any], field: str) -> bool:
    value = document.get(field)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise bad(field, value, "true or false")
    return value


def bad(field: str, seen: Any, allowed: str) -> ApiProblem:
    """The problem with one field, the value seen cut to what can be read."""
    shown = json.dumps(seen, ensure_ascii=False, default=str)
    shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
    return ApiProblem(f"{field}: {shown} (allowed: {allowed})", field=field, code="invalid_value")
