"""Runs inside vLLM's API server, as a middleware that it loads by name: stamps what its front end sees.

vLLM's log names no request that was turned away before the engine, and its times are printed ones. This
writes one line a fact, in nanoseconds of CLOCK_MONOTONIC, to the file of ``ASSAY_FRONT_EVENTS``; no content
ever. It is imported by the engine's own interpreter: standard library only.
"""

import json
import os
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

FILE, DOMAIN = "ASSAY_FRONT_EVENTS", "ASSAY_CLOCK_DOMAIN"
_TURNED_AWAY = range(400, 500)
_BUSY = 503

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


class Witness:
    """Pure ASGI: nothing is buffered, changed or held back."""

    def __init__(self, app: App) -> None:
        self._app = app
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._descriptor = os.open(os.environ[FILE], flags, 0o644)
        self._write("clock", clock_domain=os.environ[DOMAIN], process="front", pid=os.getpid())

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        request = _request_of(scope)
        if request is None:
            await self._app(scope, receive, send)
            return
        call = _Call(self._write, request)
        self._write("front_received", request=request)

        async def received() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                call.left()
            return message

        async def sent(message: Message) -> None:
            await send(message)
            call.sent(message)

        await self._app(scope, received, sent)

    def _write(self, event: str, **fields: Any) -> None:
        row = {"event": event, "t_ns": time.monotonic_ns(), **fields}
        os.write(self._descriptor, json.dumps(row, separators=(",", ":")).encode() + b"\n")


class _Call:
    """One request: what was handed to its socket, and that its client left before the end."""

    def __init__(self, write: Callable[..., None], request: str) -> None:
        self._write = write
        self._request = request
        self._over = False

    def sent(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            status = int(message["status"])
            self._say("front_written", part="head", status=status)
            if status in _TURNED_AWAY or status == _BUSY:
                self._say("rejected", reason=f"status {status}")
            elif status >= 500:
                self._say("failed", reason=f"status {status}")
        elif message["type"] == "http.response.body":
            if body := message.get("body", b""):
                self._say("front_written", bytes=len(body))
            if not message.get("more_body", False) and not self._over:
                self._over = True
                self._say("front_finished")

    def left(self) -> None:
        """Also asked for, and answered, after the end of a reply: then nobody left early."""
        if not self._over:
            self._over = True
            self._say("front_disconnected")

    def _say(self, event: str, **fields: Any) -> None:
        self._write(event, request=self._request, **fields)


def _request_of(scope: Message) -> str | None:
    """The attempt's id of a measured request; the platform's own questions carry none."""
    if scope["type"] != "http":
        return None
    return next((v.decode("latin-1") for k, v in scope["headers"] if k == b"x-request-id"), None)
