"""The bytes of every request, built before their time from rows of the plan and of the prompts.

Messages are shared between requests with the same prompt and joined with head and tail at the send, which
costs a copy and no serialisation. An attempt's id travels in ``X-Request-Id``; the engine uses it as its
own request id, so that the ledgers join on it.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from runners.protocol.errors import EnvironmentLacks, Finding, Refused

PATHS = {
    "chat": "/v1/chat/completions",
    "completions": "/v1/completions",
    "embeddings": "/v1/embeddings",
    "rerank": "/v1/rerank",
    "score": "/v1/score",
}
# Whose replies are a stream of tokens; the others answer with one JSON document.
GENERATING = ("chat", "completions")
CALL_TYPES = {
    "generation": GENERATING,
    "embedding": ("embeddings",),
    "rerank": ("rerank",),
    "score": ("score",),
}
_CONTENT_LENGTH = re.compile(rb"\r\nContent-Length: \d+\r\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where requests go. ``prefix`` is the path of the base URL without ``/v1`` and without a final slash."""

    scheme: str
    host: str
    port: int
    prefix: str

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        default = 443 if self.scheme == "https" else 80
        return host if self.port == default else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRequest:
    """One row of the plan with its bytes. The head may hold a secret and is kept out of ``repr``."""

    row: Mapping[str, Any]
    head: bytes = field(repr=False)  # up to and with "X-Request-Id: "
    body: tuple[bytes, ...] = field(repr=False)

    @property
    def request_id(self) -> str:
        return str(self.row["request_id"])

    @property
    def on_reply(self) -> dict[str, Any] | None:
        """What the plan says to do with the reply; see ``runners.load.structures``."""
        stated = self.row.get("on_reply")
        return None if stated is None else json.loads(stated)

    def payload(self, attempt_id: str) -> bytes:
        """The whole request as it goes on the wire."""
        return b"".join((self.head, attempt_id.encode("ascii"), b"\r\n\r\n", *self.body))


def parse_target(base_url: str) -> Target:
    """Scheme, host and port of a base URL; ``http://host:port``, with or without ``/v1``."""
    parts = urlsplit(base_url)
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.scheme not in ("http", "https") or not parts.hostname or port == -1 or parts.query:
        raise Refused(
            Finding(
                field="base_url",
                seen=base_url,
                allowed="http://HOST:PORT or https://HOST:PORT, with or without /v1",
                remedy="Give the engine's address.",
            )
        )
    return Target(
        scheme=parts.scheme,
        host=parts.hostname,
        port=port or (443 if parts.scheme == "https" else 80),
        prefix=parts.path.rstrip("/").removesuffix("/v1"),
    )


def authorization(variable: str | None) -> str | None:
    """``Bearer <value of the environment variable>``; the value goes into requests and nowhere else."""
    if variable is None:
        return None
    value = os.environ.get(variable, "")
    if not value or not value.isascii() or not value.isprintable():
        raise EnvironmentLacks(
            Finding(
                field="authorization_env",
                seen=f"{variable} is " + ("not set" if not value else "no printable ASCII text"),
                allowed="the name of an environment variable that holds the key",
                remedy=f"export {variable}=...",
            )
        )
    return f"Bearer {value}"


def prepare(
    rows: Iterable[Mapping[str, Any]],
    prompts: Mapping[str, Mapping[str, Any]],
    *,
    target: Target,
    model: str,
    reuse: bool,
    authorization_env: str | None = None,
    return_token_ids: bool = True,
) -> list[PreparedRequest]:
    """Requests for the rows, in their order. ``prompts`` maps a prompt's ref to its row.

    ``return_token_ids`` asks for ids in each delta; some engines refuse it in a stream. A completions
    request carries the prompt as token ids, so that the engine decodes exactly what the plan counted.
    """
    fixed = [f"Host: {target.authority}", "User-Agent: assay"]
    if bearer := authorization(authorization_env):
        fixed.append(f"Authorization: {bearer}")
    fixed += ["Content-Type: application/json", f"Connection: {'keep-alive' if reuse else 'close'}"]
    common = "\r\n".join(fixed)
    asked: dict[tuple[str, str], bytes] = {}
    prepared = []
    for row in rows:
        _check(row, prompts)
        key = (row["endpoint"], row["prompt_ref"])
        if key not in asked:
            asked[key] = _input_member(row["endpoint"], prompts[row["prompt_ref"]])
        members = _members(row, model=model, return_token_ids=return_token_ids)
        tail = b"," + json.dumps(members, ensure_ascii=False).encode()[1:]
        body = (b"{", asked[key], tail)
        accepted = "text/event-stream" if row["endpoint"] in GENERATING else "application/json"
        head = (
            f"POST {target.prefix}{PATHS[row['endpoint']]} HTTP/1.1\r\n{common}\r\n"
            f"Accept: {accepted}\r\nContent-Length: {sum(map(len, body))}\r\nX-Request-Id: "
        )
        prepared.append(PreparedRequest(row=row, head=head.encode(), body=body))
    return prepared


def with_messages(request: PreparedRequest, messages: str) -> PreparedRequest:
    """The request with messages that were not known when it was prepared (canonical JSON)."""
    start, _, tail = request.body
    body = (start, b'"messages":' + messages.encode(), tail)
    length = f"\r\nContent-Length: {sum(map(len, body))}\r\n".encode()
    head = _CONTENT_LENGTH.sub(length, request.head, count=1)
    return PreparedRequest(row=request.row, head=head, body=body)


def _input_member(endpoint: str, prompt: Mapping[str, Any]) -> bytes:
    """The members of the body that hold what is asked, without braces around them."""
    if endpoint == "chat":
        return b'"messages":' + str(prompt["messages"]).encode()
    if endpoint not in GENERATING:
        return str(prompt["messages"]).encode()[1:-1]
    ids = prompt["token_ids"]
    text = prompt["expanded"]
    given = json.dumps(text) if ids is None else json.dumps([int(i) for i in ids])
    return b'"prompt":' + given.encode()


_FORM = {"embeddings": {"encoding_format": "float"}}


def _members(row: Mapping[str, Any], *, model: str, return_token_ids: bool) -> dict[str, Any]:
    if row["endpoint"] not in GENERATING:
        return {"model": model, **_FORM.get(row["endpoint"], {})}
    members: dict[str, Any] = {
        "model": model,
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": row["output_cap"],
    }
    if return_token_ids:
        members["return_token_ids"] = True
    declared = {
        "temperature": row["temperature"],
        "top_p": row["top_p"],
        "top_k": row["top_k"] or None,  # 0 means all tokens, which is what absence means too
        "seed": row["sampling_seed"],
        "stop": list(row["stop"] or []) or None,
        "ignore_eos": row["ignore_eos"] or None,  # false is what absence means
    }
    further = json.loads(row["members"]) if row.get("members") else {}
    return members | {k: v for k, v in declared.items() if v is not None} | further


def _check(row: Mapping[str, Any], prompts: Mapping[str, Mapping[str, Any]]) -> None:
    request = row["request_id"]
    if row["call_type"] not in CALL_TYPES:
        raise _refused(f"plan {request}.call_type", row["call_type"], ", ".join(CALL_TYPES))
    if row["endpoint"] not in CALL_TYPES[row["call_type"]]:
        allowed = ", ".join(CALL_TYPES[row["call_type"]])
        raise _refused(f"plan {request}.endpoint", row["endpoint"], f"{allowed}, for its call type")
    if row["prompt_ref"] not in prompts:
        raise _refused(
            f"plan {request}.prompt_ref", row["prompt_ref"], "a prompt_ref of prompts.parquet"
        )


def _refused(field_name: str, seen: object, allowed: str) -> Refused:
    return Refused(
        Finding(
            field=field_name, seen=str(seen), allowed=allowed, remedy="Materialise the plan again."
        )
    )
