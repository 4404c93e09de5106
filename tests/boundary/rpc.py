"""The caller's side of the gRPC service: starting it, asking it, and an HTTP front that relays its word."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from tests.boundary.paced import Pace, Recorded
from tests.runners.load.servers import Exchange, answer, plain

ROOT = Path(__file__).resolve().parents[2]
_START_S = 20.0


@dataclass(slots=True)
class Service:
    process: subprocess.Popen[str]
    events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.wait_for("serving", timeout_s=_START_S)["port"])

    def wait_for(
        self, event: str, call: str | None = None, *, timeout_s: float = 5.0
    ) -> dict[str, Any]:
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            for row in list(self.events):
                if row["event"] == event and call in (None, row.get("call")):
                    return row
            time.sleep(0.01)
        raise AssertionError(f"no {event} of {call}: {self.events}")


@contextlib.contextmanager
def rpc_service(*, clock_ahead_s: int = 0) -> Iterator[Service]:
    """A started service. ``clock_ahead_s`` steps its monotonic clock by a time namespace (Linux 5.6)."""
    command = [sys.executable, "-m", "tests.boundary.rpc_service"]
    if clock_ahead_s:
        owner = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
        command = ["unshare", *owner, "--time", "--monotonic", str(clock_ahead_s), *command]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    service = Service(process)

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            service.events.append(json.loads(line))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        yield service
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)
        reader.join(5)
        assert process.stdout is not None
        process.stdout.close()


def ask(port: int, call: str, *, seconds: float, timeout_s: float, method: str = "Obedient") -> Any:
    """A call that is under way: ``result()`` waits for it, ``cancel()`` gives it up."""
    channel = grpc.insecure_channel(f"127.0.0.1:{port}")
    request = json.dumps({"call": call, "seconds": seconds}).encode()
    return channel.unary_unary(f"/work/{method}").future(request, timeout=timeout_s)


def relaying(port: int, *, seconds: float, timeout_s: float) -> Pace:
    """An HTTP front that is itself the client of the service, with a deadline of its own.

    DEADLINE_EXCEEDED becomes HTTP 504 whose body says so: type ``downstream_timeout``, code
    ``deadline_exceeded``.
    """

    async def pace(recorded: Recorded, exchange: Exchange) -> None:
        call = ask(port, exchange.attempt_id, seconds=seconds, timeout_s=timeout_s)
        try:
            await asyncio.to_thread(call.result)
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED:
                raise
            recorded.note("failed", exchange, reason="deadline of the call to the work service")
            body = {
                "message": f"the work service did not answer within {timeout_s:g} s",
                "type": "downstream_timeout",
                "code": "deadline_exceeded",
            }
            data = json.dumps({"error": body}).encode()
            await exchange.send(
                plain("504 Gateway Timeout", data, "Content-Type: application/json")
            )
            return
        await exchange.send(answer())
        recorded.note("finished", exchange, reason="stop")

    return pace
