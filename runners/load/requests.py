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

from runners.load.bodies import FORMS, members
from runners.protocol.errors import EnvironmentLacks, Finding, Refused

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

    ``return_token_ids`` asks for ids in each delta; some engines refuse it in a stream.
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
        form = FORMS[row["endpoint"]]
        key = (row["endpoint"], row["prompt_ref"])
        if key not in asked:
            asked[key] = form.asked(prompts[row["prompt_ref"]])
        others = members(row, model=model, return_token_ids=return_token_ids)
        body = (b"{", asked[key], b"," + json.dumps(others, ensure_ascii=False).encode()[1:])
        further = "".join(f"{line}\r\n" for line in form.headers)
        head = (
            f"POST {target.prefix}{form.path} HTTP/1.1\r\n{common}\r\n{further}"
            f"Accept: {form.accepted}\r\nContent-Length: {sum(map(len, body))}\r\nX-Request-Id: "
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


def _check(row: Mapping[str, Any], prompts: Mapping[str, Mapping[str, Any]]) -> None:
    request, kind = row["request_id"], row["call_type"]
    endpoints = [name for name, form in FORMS.items() if form.call_type == kind]
    if not endpoints:
        kinds = dict.fromkeys(form.call_type for form in FORMS.values())
        raise _refused(f"plan {request}.call_type", kind, ", ".join(kinds))
    if row["endpoint"] not in endpoints:
        allowed = f"{', '.join(endpoints)}, for its call type"
        raise _refused(f"plan {request}.endpoint", row["endpoint"], allowed)
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
