"""Reach an engine that somebody else runs: is it there, does it let us in, what does it say of itself?

Asked once before the run, on the pinned address. What it does not tell stays unknown; a redirect is not
followed, because it would lead to a host that nobody allowed.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from runners.evidence import endpoint
from runners.evidence.endpoint import Reply
from runners.protocol.errors import Finding, RunFailed

_POLL_S = 0.25
_ASK_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Where control requests go: the base URL without ``/v1``, the pinned address, the bearer value."""

    base_url: str
    address: str
    bearer: str | None

    def ask(self, path: str) -> Reply:
        return endpoint.ask(
            self.base_url, path, timeout_s=_ASK_S, address=self.address, bearer=self.bearer
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the endpoint told. ``models`` null: it lists none. ``version`` null: it states none."""

    models: list[str] | None
    version: str | None
    info: dict[str, Any]


def origin(base_url: str) -> str:
    """The base URL without a trailing ``/v1``, where the control paths lie."""
    parts = urlsplit(base_url)
    prefix = parts.path.rstrip("/").removesuffix("/v1")
    return f"{parts.scheme}://{parts.netloc}{prefix}"


async def reach(
    door: Door,
    *,
    health_path: str,
    info_path: str,
    version_path: str,
    timeout_s: float,
    tell: Callable[[str], None],
) -> Answer:
    """Wait until the endpoint answers, then take what it says. Raises RunFailed if it does not let us in."""
    listed = await _await_answer(door, info_path, timeout_s=timeout_s, tell=tell)
    health = await asyncio.to_thread(door.ask, health_path)
    version = await asyncio.to_thread(door.ask, version_path)
    _let_in(listed, info_path)
    info: dict[str, Any] = {
        "asked": {
            path: r.status
            for path, r in ((info_path, listed), (health_path, health), (version_path, version))
        },
        "server_header": listed.headers.get("server"),
        "models": _document(listed),
        "version": _document(version),
    }
    stated = info["version"]
    text = stated.get("version") if isinstance(stated, Mapping) else None
    return Answer(
        models=_names(info["models"]),
        version=text if isinstance(text, str) and text else None,
        info=info,
    )


async def _await_answer(
    door: Door, path: str, *, timeout_s: float, tell: Callable[[str], None]
) -> Reply:
    deadline = time.monotonic() + timeout_s
    while True:
        reply = await asyncio.to_thread(door.ask, path)
        if reply.status is not None and reply.status < 500:
            return reply
        said = reply.error or f"status {reply.status}"
        if "CERTIFICATE_VERIFY_FAILED" in said:  # waiting makes no certificate better
            raise _failed(
                "engine.environment.url",
                f"{door.base_url}: {said}",
                "a certificate that this machine's authorities vouch for",
                "Name a file with the authority's certificate in SSL_CERT_FILE.",
            )
        if time.monotonic() > deadline:
            raise _failed(
                "engine.ready_timeout_s",
                f"no answer from {door.base_url} within {timeout_s:g} s; {path} last gave: {said}",
                "an endpoint that answers",
                "Start it, check the URL, or wait longer with engine.ready_timeout_s.",
            )
        tell(f"{door.base_url} gives: {said}")
        await asyncio.sleep(_POLL_S)


def _let_in(reply: Reply, path: str) -> None:
    status = reply.status or 0
    if status in (401, 403):
        raise _failed(
            "engine.settings.authorization_env",
            f"{path} answers {status}",
            "the name of a variable that holds a key which the endpoint takes",
            "Export the key, and name its variable.",
        )
    if 300 <= status < 400:
        raise _failed(
            "engine.environment.url",
            f"{path} answers {status} and points to {reply.headers.get('location', 'nowhere')}",
            "an endpoint that answers by itself; redirects are not followed",
            "Give the address that it points to, if that is meant.",
        )


def check_model(model: str, listed: list[str] | None) -> None:
    """Raise RunFailed when the endpoint lists its models and this one is not among them."""
    if listed and model not in listed:
        raise _failed(
            "engine.settings.model", model, ", ".join(sorted(listed)), "Name one that is served."
        )


def check_version(pin: str | None, stated: str | None) -> None:
    """Raise RunFailed unless a declared version is the one that the endpoint states of itself."""
    if pin is not None and stated != pin:
        seen = "the endpoint states no version" if stated is None else f"it states {stated}"
        raise _failed(
            "engine.version",
            f"{seen}, pin says {pin}",
            pin,
            "Leave the version null, or pin this one.",
        )


def _document(reply: Reply) -> Any:
    return reply.json() if reply.ok else None


def _names(document: Any) -> list[str] | None:
    rows = document.get("data") if isinstance(document, Mapping) else None
    if not isinstance(rows, list):
        return None
    return [str(row["id"]) for row in rows if isinstance(row, Mapping) and "id" in row] or None


def _failed(field: str, seen: str, allowed: str, remedy: str) -> RunFailed:
    return RunFailed(Finding(field=field, seen=seen, allowed=allowed, remedy=remedy))
