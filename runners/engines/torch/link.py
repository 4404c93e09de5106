"""The front end's side of the socket to the model loop: calls out, tokens back, and that it is gone."""

import asyncio
import contextlib
import json
from dataclasses import dataclass
from typing import Any

from runners.engines.torch.calls import Call, Output, PooledCall
from runners.engines.torch.channel import encode
from runners.engines.torch.metrics import Metrics
from runners.engines.torch.pooled_requests import PooledOutput

LINE_LIMIT_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Lost:
    """The loop ended before the answer did."""

    reason: str


@dataclass(frozen=True, slots=True)
class Expired:
    """The loop ended the request at the engine's own time limit."""


Item = Output | PooledOutput | Lost | Expired


class LoopLink:
    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, metrics: Metrics
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._metrics = metrics
        self._inboxes: dict[str, asyncio.Queue[Any]] = {}
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._next_id = 0
        self.info: dict[str, Any] | None = None  # set once the loop is ready
        self.ready = asyncio.Event()
        self.lost: str | None = None

    @property
    def in_flight(self) -> int:
        return len(self._inboxes)

    def knows(self, request: str) -> bool:
        return request in self._inboxes

    async def serve(self) -> None:
        """Deliver messages until the loop is gone; what it was cut off in writing is no message."""
        with contextlib.suppress(ConnectionError):
            while (line := await self._reader.readline()).endswith(b"\n"):
                self._deliver(json.loads(line))

    def lose(self, reason: str) -> None:
        """Tell everybody who waits that nothing more will come."""
        self.lost = reason
        for inbox in self._inboxes.values():
            inbox.put_nowait(Lost(reason))
        for future in self._asked.values():
            if not future.done():
                future.set_result({"problem": reason})

    def submit(self, call: Call) -> asyncio.Queue[Any]:
        """Send a call to the loop; its outputs arrive in the returned inbox."""
        inbox: asyncio.Queue[Any] = asyncio.Queue()
        self._inboxes[call.request] = inbox
        self._send({"kind": "submit", "call": call.as_json()})
        return inbox

    def submit_pooled(self, call: PooledCall) -> asyncio.Queue[Any]:
        """Send a request for vectors to the loop; they arrive together in the returned inbox."""
        inbox: asyncio.Queue[Any] = asyncio.Queue()
        self._inboxes[call.request] = inbox
        self._send({"kind": "submit_pooled", "call": call.as_json()})
        return inbox

    def cancel(self, request: str) -> None:
        self._send({"kind": "cancel", "request": request})

    def close_inbox(self, request: str) -> None:
        self._inboxes.pop(request, None)

    async def ask(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Send a question and wait for its reply: ``{"result"}`` or ``{"problem"}``."""
        self._next_id += 1
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._asked[self._next_id] = future
        self._send({"kind": kind, "id": self._next_id, **fields})
        return await future

    def stop(self) -> None:
        self._send({"kind": "end", "reason": "asked to stop"})

    def _send(self, message: dict[str, Any]) -> None:
        if self.lost is None:
            self._writer.write(encode(message))

    def _deliver(self, message: dict[str, Any]) -> None:
        kind = message["kind"]
        if kind == "step":
            self._metrics.step(message["stats"])
            for request, token, text, finish in message["outputs"]:
                if inbox := self._inboxes.get(request):
                    inbox.put_nowait(Output(request=request, token=token, text=text, finish=finish))
            for request, vectors in message["pooled"]:
                if inbox := self._inboxes.get(request):
                    inbox.put_nowait(PooledOutput(request=request, vectors=vectors))
        elif kind == "cancelled":
            self._metrics.state(message["stats"])
        elif kind == "expired":
            self._metrics.state(message["stats"])
            if inbox := self._inboxes.get(message["request"]):
                inbox.put_nowait(Expired())
        elif kind == "reply":
            self._asked.pop(message["id"]).set_result(message)
        elif kind == "ready":
            self.info = message["info"]
            self._metrics.ready(message["info"])
            self.ready.set()
